// Receipts: hashes of every block that a transfer delivered, under one root. libudtx/src/transfer/receipt/receipt.hpp
// has the format.
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

/// The receipt of one transfer over one connection, which writes it while it runs. The file gets its name when the
/// transfer has ended, and the receiver has confirmed all of it or `partial`. Otherwise nothing is left, and
/// Outcome::receipt says why. Copies mean the same receipt; a second transfer with it fails with invalid_argument.
class UDTX_EXPORT ReceiptFile {
  public:
    /// Makes a temporary file beside `path`. A file at `path` stays until the receipt gets its name. file_io: it cannot
    /// be written.
    static Result<ReceiptFile> create(const std::string& path);
    /// Removes the temporary file, for a process that ends without destructors. Any thread.
    void discard() const noexcept;

    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<ReceiptWriter>& writer() const noexcept { return writer_; }

  private:
    explicit ReceiptFile(std::shared_ptr<ReceiptWriter> writer) : writer_(std::move(writer)) {}
    std::shared_ptr<ReceiptWriter> writer_;
};

/// A receipt, and what to call it in errors.
struct NamedReceipt {
    std::string name{};  ///< of its file, say
    std::string text{};  ///< all of it
};
/// One receipt of several.
struct MergedReceipt {
    std::string text{};       ///< a receipt as any other
    std::uint64_t files = 0;  ///< in it
    std::uint64_t bytes = 0;  ///< sizes of `files`, holes included
};

/// Makes one receipt of those of all shards of a job. Entries are in the order of compare_paths() and numbered anew, so
/// that the same entries give the same text however they were cut; one receipt alone is put into that form.
/// invalid_argument: there are none. integrity, with the name: a text is no receipt, was cut or changed, has other
/// hashes than the first, or says that something was not delivered; of the shards of a job one is missing or there
/// twice; a file or a hard link stands in two of them, or a directory or symbolic link that is not the same. Takes all
/// texts in memory, and as much again. Any thread.
[[nodiscard]] UDTX_EXPORT Result<MergedReceipt> merge_receipts(const std::vector<NamedReceipt>& receipts);

/// What a check has found.
struct CheckCounts {
    std::uint64_t entries = 0;     ///< in the receipt
    std::uint64_t files = 0;       ///< of `entries`
    std::uint64_t bytes = 0;       ///< sizes of `files`, holes included
    std::uint64_t different = 0;   ///< entries that are not as the receipt says
    std::uint64_t unreadable = 0;  ///< entries that cannot be read
};

/// What the check tells, on the thread that checks.
struct CheckCallbacks {
    /// One line for people for each difference. Names are escaped.
    std::function<void(const std::string& line)> tell = [](const std::string&) {};
    /// Path of each entry that is not as the receipt says. Unescaped.
    std::function<void(const std::string& path)> differs = [](const std::string&) {};
};

/// Compares the tree below `directory` with the text of a receipt, whose paths count from the destination. It reads all
/// files, and blocks until then. Symbolic links are not followed. integrity: the text is no receipt, was cut, or was
/// changed; file_io: the directory cannot be opened.
[[nodiscard]] UDTX_EXPORT Result<CheckCounts> check_receipt(std::string_view receipt, const std::string& directory,
                                                            const CheckCallbacks& callbacks = {});

}  // namespace udtx::transfer
