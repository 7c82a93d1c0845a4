// What an end and the relay send each other. Messages go over TLS on TCP:
//
//   length:u16  type:u8  release:u16  fields
//
// Numbers have their highest byte first. `length` counts the bytes after it. `release` is the first release of udtx
// that knows the type, as 1000 * major + minor. The rules for what a later release adds are those of the wire format
// (docs/inside/wire-format.md, section 6): readers skip fields behind those that they know, and unknown types from 64
// to 127. They refuse other unknown types and name the release.
//
// CLAIM and JOIN name the newest version that the end speaks. The relay answers with the newest one that all sides
// speak, and refuses an end that is older than kOldestRendezvousVersion. An end does the same with the relay's answer.
//
// Datagrams on the UDP port of the relay have 1 or 2 as their first byte. The first byte of a packet of udtx has one of
// its two highest bits set, so the transport drops what it gets of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

#ifdef UDTX_FUTURE  // see tests/compat
inline constexpr std::uint8_t kRendezvousVersion = 2;
#else
inline constexpr std::uint8_t kRendezvousVersion = 1;
#endif
inline constexpr std::uint8_t kOldestRendezvousVersion = 1;
inline constexpr std::uint16_t kDefaultRelayPort = 7012;
inline constexpr std::size_t kMaxPeerBytes = 1024;
inline constexpr std::size_t kMaxDataBytes = 16'000;
inline constexpr std::size_t kMaxReasonBytes = 256;

/// Only an end and the relay know it, so that BIND and its answer are from them.
using Token = std::array<std::byte, 16>;

/// Why a session ends.
enum class CloseReasonCode : std::uint8_t {
    done = 0,            ///< the end has finished
    violation = 1,       ///< the other side broke the protocol
    unknown_number = 2,  ///< no end waits with this number
    busy = 3,            ///< the relay has no room, or this address tries too often
    wrong_code = 4,      ///< the words of the two ends differ
    expired = 5,         ///< the time of the session is over
    other_end = 6,       ///< the other end has left
    version = 7,         ///< the end is too old
    stopping = 8,        ///< the relay is being stopped
};

/// An end that sends asks for a number.
struct Claim {
    static constexpr std::uint8_t kType = 1;
    static void fields(auto& io, auto& m) { io.u8(m.version); }
    std::uint8_t version = kRendezvousVersion;
};
/// The relay gives the number.
struct Claimed {
    static constexpr std::uint8_t kType = 2;
    static void fields(auto& io, auto& m) {
        io.u8(m.version);
        io.u32(m.number);
        io.token(m.token);
        io.u32(m.seconds);
    }
    std::uint8_t version = kRendezvousVersion;
    std::uint32_t number = 0;
    Token token{};
    std::uint32_t seconds = 0;  ///< time for which the claim waits
};
/// An end that receives asks for the end with this number.
struct Join {
    static constexpr std::uint8_t kType = 3;
    static void fields(auto& io, auto& m) {
        io.u8(m.version);
        io.u32(m.number);
    }
    std::uint8_t version = kRendezvousVersion;
    std::uint32_t number = 0;
};
/// To both ends: from now on they can reach each other.
struct Joined {
    static constexpr std::uint8_t kType = 4;
    static void fields(auto& io, auto& m) {
        io.u8(m.version);
        io.u8(m.join);
        io.token(m.token);
    }
    std::uint8_t version = kRendezvousVersion;
    std::uint8_t join = 0;  ///< counts the ends that have joined; both ends name it in what they send from now on
    Token token{};          ///< of the end that gets the message
};
/// To the end that has claimed: the other end has left before the pair was complete. The number waits for another.
struct Left {
    static constexpr std::uint8_t kType = 5;
    static void fields(auto& io, auto& m) { io.u8(m.joins_left); }
    std::uint8_t joins_left = 0;
};
/// From the end that has claimed: the other end does not know the words. The relay disconnects it.
struct Dismiss {
    static constexpr std::uint8_t kType = 6;
    static void fields(auto& io, auto& m) { io.u8(m.join); }
    std::uint8_t join = 0;
};
/// From the end that has claimed: the other end knows the words. From now on the session ends with either end.
struct Settled {
    static constexpr std::uint8_t kType = 7;
    static void fields(auto& io, auto& m) { io.u8(m.join); }
    std::uint8_t join = 0;
};
/// Bytes for the other end, which the relay does not understand. It drops those for an end that has left already.
struct Peer {
    static constexpr std::uint8_t kType = 8;
    static void fields(auto& io, auto& m) {
        io.u8(m.join);
        io.bytes(m.body, kMaxPeerBytes);
    }
    std::uint8_t join = 0;
    std::vector<std::byte> body{};
};
/// The next bytes of the stream between the ends of a pair. The relay passes all of them on, as fast as the other end
/// takes them.
struct Data {
    static constexpr std::uint8_t kType = 9;
    static constexpr std::size_t kOverheadBytes = 7;  ///< of the message, besides the body
    static void fields(auto& io, auto& m) { io.bytes(m.body, kMaxDataBytes); }
    std::vector<std::byte> body{};
};
/// The last message of either side.
struct Close {
    static constexpr std::uint8_t kType = 10;
    static void fields(auto& io, auto& m) {
        io.code(m.code);
        io.text(m.reason, kMaxReasonBytes);
    }
    CloseReasonCode code = CloseReasonCode::done;  ///< may be a later release's code
    std::string reason{};                          ///< for people; not checked
};

using Message = std::variant<Claim, Claimed, Join, Joined, Left, Dismiss, Settled, Peer, Data, Close>;

/// A fields' bound that the message exceeds is the caller's bug.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);
/// "CLAIM", for messages to people.
[[nodiscard]] std::string_view name_of(const Message& message) noexcept;

/// Finds the messages in a stream of bytes. After an error it finds no more.
class MessageReader {
  public:
    /// Appends bytes. Call next() until it returns no message before more bytes are added: then the reader keeps less
    /// than one message.
    void feed(std::span<const std::byte> bytes);
    /// The next message; nullopt: more bytes are necessary. protocol: the bytes are not a message, or one that only a
    /// later release knows.
    [[nodiscard]] Result<std::optional<Message>> next();
    /// Bytes that belong to no message yet.
    [[nodiscard]] std::size_t pending() const noexcept { return buffer_.size() - at_; }

  private:
    std::vector<std::byte> buffer_;
    std::size_t at_ = 0;
    bool failed_ = false;
};

// --- datagrams

/// From an end: "from which address does this come?". It has more bytes than its answer.
struct Bind {
    static constexpr std::uint8_t kFirstByte = 1;
    static constexpr std::size_t kBytes = 64;
    Token token{};
};
struct BindAnswer {
    static constexpr std::uint8_t kFirstByte = 2;
    Token token{};
    Address observed{};
};

[[nodiscard]] std::array<std::byte, Bind::kBytes> encode(const Bind& bind);
[[nodiscard]] std::vector<std::byte> encode(const BindAnswer& answer);
[[nodiscard]] std::optional<Bind> parse_bind(std::span<const std::byte> datagram);
[[nodiscard]] std::optional<BindAnswer> parse_bind_answer(std::span<const std::byte> datagram);

}  // namespace udtx::apps
