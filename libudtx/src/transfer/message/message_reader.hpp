// Bytes of the control stream as messages. Nothing in them is believed that the format does not bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Takes the control stream's bytes in any cut. Holds at most one incomplete message beyond what was fed.
class MessageReader {
  public:
    void feed(std::span<const std::byte> bytes);
    /// nullopt: more bytes are needed. malformed: the stream cannot be read on.
    [[nodiscard]] Result<std::optional<Message>> next();
    /// Of the message that next() would give, whole or not; nullopt: more bytes are needed.
    [[nodiscard]] std::optional<std::uint8_t> next_type() const;

  private:
    std::vector<std::byte> buffer_;
    std::size_t at_ = 0;
};

/// One message without its length prefix.
[[nodiscard]] Result<Message> parse_message(std::span<const std::byte> body);

}  // namespace udtx::transfer
