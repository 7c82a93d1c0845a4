// Reads and writes the control stream: messages, each with a varint of its length before it. Format:
// docs/inside/transfer-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Takes the control stream in parts of any size. Rejects every value that is beyond the bounds of the format. Holds at
/// most one incomplete message besides the latest bytes.
class MessageReader {
  public:
    void feed(std::span<const std::byte> bytes);
    /// nullopt: more bytes are needed. malformed: the rest of the stream cannot be read.
    [[nodiscard]] Result<std::optional<Message>> next();
    /// The type of the message that next() would give, even if it is incomplete. nullopt: more bytes are needed.
    [[nodiscard]] std::optional<std::uint8_t> next_type();

  private:
    std::vector<std::byte> buffer_;
    std::size_t at_ = 0;
};

/// Parses one message without its length prefix.
[[nodiscard]] Result<Message> parse_message(std::span<const std::byte> body);

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
    void append(std::span<const std::byte> body);

    std::vector<std::byte> scratch_;
    std::vector<std::byte> out_;
};

/// Encodes patterns as messages, at least one. `contents`: the destination itself takes a directory's contents.
[[nodiscard]] std::vector<message::Rules> rule_messages(const FilterRules& rules, bool contents);

}  // namespace udtx::transfer
