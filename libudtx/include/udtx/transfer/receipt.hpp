// Receipts: the hashes of all blocks that a transfer delivered, under one root hash. The format is in
// libudtx/src/transfer/receipt/receipt.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class ReceiptWriter;

/// The receipt of one transfer over one connection. The transfer writes it while it runs. The file gets its final name
/// at the end of the transfer, if the receiver has confirmed everything or `partial`. Otherwise the file is removed,
/// and Outcome::receipt has the reason. Copies refer to the same receipt. A second transfer with it fails with
/// invalid_argument.
class UDTX_EXPORT ReceiptFile {
  public:
    /// Creates a temporary file beside `path`. An existing file at `path` stays until the receipt gets its final name.
    /// file_io: the file cannot be written.
    static Result<ReceiptFile> create(const std::string& path);
    /// Removes the temporary file, for a process that exits without destructors. Any thread.
    void discard() const noexcept;

  private:
    friend struct udtx::StateAccess;
    explicit ReceiptFile(std::shared_ptr<ReceiptWriter> writer) : state_(std::move(writer)) {}
    std::shared_ptr<ReceiptWriter> state_;
};

/// A receipt, and its name in error messages.
struct NamedReceipt {
    std::string name{};  ///< name, for example that of its file
    std::string text{};  ///< whole text
};
/// The result of merge_receipts().
struct MergedReceipt {
    std::string text{};       ///< the merged receipt, in the same format
    std::uint64_t files = 0;  ///< number of files in it
    std::uint64_t bytes = 0;  ///< sizes of `files`, including holes
};

/// Merges the receipts of all shards of a job into one. The entries are sorted by compare_paths() and renumbered. The
/// same entries thus give the same text, whatever the cuts. A single receipt is converted to that form. Keeps all texts
/// in memory, and uses as much memory again. Any thread.
///
/// An empty `receipts` is an invalid_argument. All other errors are `integrity`, and the message has the name of the
/// receipt. The causes are: A text is not a receipt, is truncated, or was modified. Its hash algorithm is not that of
/// the first receipt. It lists something that was not delivered. A shard of the job is missing or appears twice. Two
/// receipts contain the same file or hard link, or differ in a directory or symbolic link.
[[nodiscard]] UDTX_EXPORT Result<MergedReceipt> merge_receipts(const std::vector<NamedReceipt>& receipts);

/// The result of check_receipt().
struct CheckCounts {
    std::uint64_t entries = 0;     ///< entries in the receipt
    std::uint64_t files = 0;       ///< of `entries`: files
    std::uint64_t bytes = 0;       ///< sizes of `files`, including holes
    std::uint64_t different = 0;   ///< entries that differ from the receipt
    std::uint64_t unreadable = 0;  ///< entries that cannot be read
};

/// Callbacks of check_receipt(), on the calling thread.
struct CheckCallbacks {
    /// Receives one line for people for each difference. Names are escaped.
    std::function<void(const std::string& line)> tell = [](const std::string&) {};
    /// Receives the path of each entry that differs from the receipt, unescaped.
    std::function<void(const std::string& path)> differs = [](const std::string&) {};
};

/// Compares the tree below `directory` with the text of a receipt. The paths of the receipt are relative to the
/// destination. Reads all files, and blocks until it is done. Does not follow symbolic links. integrity: the text is
/// not a receipt, is truncated, or was modified. file_io: the directory cannot be opened.
[[nodiscard]] UDTX_EXPORT Result<CheckCounts> check_receipt(std::string_view receipt, const std::string& directory,
                                                            const CheckCallbacks& callbacks = {});

}  // namespace udtx::transfer
