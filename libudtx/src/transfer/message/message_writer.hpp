// Writes messages of the control stream as bytes. Format: docs/inside/transfer-protocol.md.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

/// Appends length-prefixed messages to one block of bytes.
class MessageWriter {
  public:
    MessageWriter();
    /// Cuts text beyond kMaxTextBytes. The caller must keep every other bound.
    void put(const Message& message);
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return out_; }
    [[nodiscard]] bool empty() const noexcept { return out_.empty(); }
    void clear() noexcept { out_.clear(); }

  private:
    std::vector<std::byte> scratch_;
    std::vector<std::byte> out_;
};

}  // namespace udtx::transfer
