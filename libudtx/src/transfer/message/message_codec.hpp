// Reads the fields of messages and records, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/result.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

inline constexpr auto kMaxFileBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// After a failure all later reads fail too, so a parser checks once.
class Fields {
  public:
    explicit Fields(std::span<const std::byte> body) : in_(body) {}

    [[nodiscard]] bool complete() const { return ok_ && in_.empty(); }
    [[nodiscard]] bool ok() const { return ok_; }
    void require(bool condition) { ok_ = ok_ && condition; }

    std::uint8_t u8(std::uint8_t at_most = std::numeric_limits<std::uint8_t>::max()) {
        const std::uint8_t v = take(ok_ ? in_.u8() : std::nullopt);
        require(v <= at_most);
        return v;
    }
    std::uint64_t u64() { return take(ok_ ? in_.u64() : std::nullopt); }
    std::uint64_t varint(std::uint64_t at_most = wire::kVarintMax) {
        const std::uint64_t v = take(ok_ ? in_.varint() : std::nullopt);
        require(v <= at_most);
        return v;
    }
    FileTime time() {
        const auto seconds = static_cast<std::int64_t>(u64());
        return {seconds, static_cast<std::uint32_t>(varint(kNanosecondsInSecond - 1))};
    }
    std::span<const std::byte> bytes(std::size_t at_most) {
        const std::uint64_t n = varint(at_most);
        return take(ok_ ? in_.bytes(static_cast<std::size_t>(n)) : std::nullopt);
    }
    std::string text(std::size_t at_most) {
        const auto raw = bytes(at_most);
        return {reinterpret_cast<const char*>(raw.data()), raw.size()};
    }
    std::vector<std::string> path() {
        std::vector<std::string> out;
        const std::uint64_t n = varint(kMaxDepth);
        for (std::uint64_t i = 0; ok_ && i < n; ++i) out.push_back(text(kMaxComponentBytes));
        return out;
    }
    Digest digest() {
        const auto raw = bytes(Digest::kMaxBytes);
        require(raw.empty() || raw.size() == 16 || raw.size() == 32);
        return ok_ ? Digest(raw) : Digest();
    }

  private:
    template <class T>
    T take(std::optional<T> value) {
        ok_ = ok_ && value.has_value();
        return ok_ ? *value : T{};
    }

    wire::Reader in_;
    bool ok_ = true;
};

/// Writes what Fields::time() reads.
[[nodiscard]] inline bool put_time(wire::Writer& out, const FileTime& time) {
    return out.u64(static_cast<std::uint64_t>(time.seconds)) && out.varint(time.nanoseconds);
}

/// Writes what Fields::path() reads. False: there is no room.
inline bool put_path(wire::Writer& out, const std::vector<std::string>& path) {
    bool ok = out.varint(path.size());
    for (const std::string& component : path) {
        ok = ok && out.varint(component.size()) && out.bytes(std::as_bytes(std::span(component)));
    }
    return ok;
}

// Parses the control stream into messages. Rejects every value that is beyond the bounds of the format.

/// Takes the control stream in parts of any size. Holds at most one incomplete message besides the latest bytes.
class MessageReader {
  public:
    void feed(std::span<const std::byte> bytes);
    /// nullopt: more bytes are needed. malformed: the rest of the stream cannot be read.
    [[nodiscard]] Result<std::optional<Message>> next();
    /// The type of the message that next() would give, even if it is incomplete. nullopt: more bytes are needed.
    [[nodiscard]] std::optional<std::uint8_t> next_type() const;

  private:
    std::vector<std::byte> buffer_;
    std::size_t at_ = 0;
};

/// Parses one message without its length prefix.
[[nodiscard]] Result<Message> parse_message(std::span<const std::byte> body);

// Writes messages of the control stream as bytes. Format: docs/inside/transfer-protocol.md.

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
