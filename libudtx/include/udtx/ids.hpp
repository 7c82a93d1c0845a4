// Identifiers on the wire and in reports, each with its own type.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace udtx {

/// Id of a connection. The end that receives packets with it chooses it at random, at most kMaxChosenId, so that data
/// packets carry 4 bytes. Until the server's first reply the client uses an id of 8 bytes that it made up.
struct ConnectionId {
    std::uint64_t value = 0;                                                           ///< the id
    friend constexpr auto operator<=>(ConnectionId, ConnectionId) noexcept = default;  ///< Compares the values.
};
inline constexpr std::uint64_t kMaxChosenId = 0xffffffff;  ///< largest id of 4 bytes

/// Id of a path within its connection. It is part of the AEAD nonce. The first path is 0.
struct PathId {
    std::uint8_t value = 0;                                                ///< the id
    friend constexpr auto operator<=>(PathId, PathId) noexcept = default;  ///< Compares the values.
};

/// Number of a packet, counted per path. Each number is used once.
using PacketNumber = std::uint64_t;

/// Which end opened the connection. The client is the end that connected.
enum class Role : std::uint8_t { client = 0, server = 1 };

/// How a stream delivers its bytes, see Stream.
enum class StreamKind : std::uint8_t {
    ordered = 0,    ///< in order, both ways
    unordered = 1,  ///< pieces with their offset, on arrival, only from the end that opened the stream
};

/// Id of a stream. Bit 0 is the Role of the end that opened it, bit 1 its StreamKind. The other bits are the index.
struct StreamId {
    std::uint64_t value = 0;  ///< the id

    /// Makes an id from its parts.
    [[nodiscard]] static constexpr StreamId make(std::uint64_t index, StreamKind kind, Role opener) noexcept {
        return {(index << 2U) | (static_cast<std::uint64_t>(kind) << 1U) | static_cast<std::uint64_t>(opener)};
    }
    /// Which end opened the stream.
    [[nodiscard]] constexpr Role opener() const noexcept { return static_cast<Role>(value & 1U); }
    /// How the stream delivers bytes.
    [[nodiscard]] constexpr StreamKind kind() const noexcept { return static_cast<StreamKind>((value >> 1U) & 1U); }
    /// Index among the streams of the same opener and kind, from 0.
    [[nodiscard]] constexpr std::uint64_t index() const noexcept { return value >> 2U; }
    friend constexpr auto operator<=>(StreamId, StreamId) noexcept = default;  ///< Compares the values.
};

}  // namespace udtx

template <>
struct std::hash<udtx::ConnectionId> {
    std::size_t operator()(udtx::ConnectionId id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};
template <>
struct std::hash<udtx::StreamId> {
    std::size_t operator()(udtx::StreamId id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};

// A half-open interval of stream offsets or packet numbers.

namespace udtx {

/// The numbers from `begin` up to, but not including, `end`.
struct Range {
    std::uint64_t begin = 0;  ///< first number
    std::uint64_t end = 0;    ///< one past the last number
    /// Count of the numbers.
    [[nodiscard]] constexpr std::uint64_t size() const noexcept { return end - begin; }
    friend constexpr bool operator==(Range, Range) noexcept = default;  ///< Compares both members.
};

}  // namespace udtx
