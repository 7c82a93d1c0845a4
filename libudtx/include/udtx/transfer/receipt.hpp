// Receipts: what a transfer delivered, as hashes of every block under one root. Format: docs/receipts.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class ReceiptWriter;

/// The receipt of one connection's transfer, written while that runs; given to it in its options. It gets its name when
/// the transfer was confirmed, whole or in part (Outcome::receipt says how that went); otherwise nothing stays behind.
/// Copies are the same receipt.
class UDTX_EXPORT ReceiptFile {
  public:
    /// file_io: `path` cannot be written. What stands there stays until the transfer was confirmed.
    static Result<ReceiptFile> create(const std::string& path);
    /// Nothing stays behind; for processes that end without destructors. Any thread.
    void discard() const noexcept;

    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<ReceiptWriter>& writer() const noexcept { return writer_; }

  private:
    explicit ReceiptFile(std::shared_ptr<ReceiptWriter> writer) : writer_(std::move(writer)) {}
    std::shared_ptr<ReceiptWriter> writer_;
};

struct CheckCounts {
    std::uint64_t entries = 0;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;      ///< of the files, holes included
    std::uint64_t different = 0;  ///< entries that are not as the receipt says
    std::uint64_t unreadable = 0;
};

/// Called by the thread that checks.
struct CheckCallbacks {
    /// One line for each difference, names escaped.
    std::function<void(const std::string& line)> tell = [](const std::string&) {};
    /// The path of each entry that is not as the receipt says.
    std::function<void(const std::string& path)> differs = [](const std::string&) {};
};

/// Compares what is below `directory` with the text of a receipt. Links on the way to a file are not followed. Reads
/// all files: it takes as long as that does. integrity: the text is no receipt, is cut, or was changed; file_io: the
/// directory cannot be opened.
[[nodiscard]] UDTX_EXPORT Result<CheckCounts> check_receipt(std::string_view receipt, const std::string& directory,
                                                            const CheckCallbacks& callbacks = {});

}  // namespace udtx::transfer
