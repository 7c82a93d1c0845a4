// Identifiers on the wire and in reports, each with a type of its own.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace udtx {

/// Id of a connection, chosen at random by the end that receives packets with it. An end chooses at most kMaxChosenId,
/// so that data packets carry 4 bytes. The id that a client makes up for a server before it has heard it has 8.
struct ConnectionId {
    std::uint64_t value = 0;                                                           ///< the id
    friend constexpr auto operator<=>(ConnectionId, ConnectionId) noexcept = default;  ///< By value.
};
inline constexpr std::uint64_t kMaxChosenId = 0xffffffff;  ///< 4 bytes

/// Id of a path in its connection; part of the AEAD nonce. The first path is 0.
struct PathId {
    std::uint8_t value = 0;                                                ///< the id
    friend constexpr auto operator<=>(PathId, PathId) noexcept = default;  ///< By value.
};

/// Counts the packets sent on one path. No number is used twice.
using PacketNumber = std::uint64_t;

/// Which end opened the connection.
enum class Role : std::uint8_t { client = 0, server = 1 };

/// How a stream delivers its bytes, see Stream.
enum class StreamKind : std::uint8_t {
    ordered = 0,  ///< in order, both ways
    placed = 1,   ///< pieces with their offset, as they come, from the opener only
};

/// Id of a stream: bit 0 is the opener (Role), bit 1 the StreamKind, the rest counts.
struct StreamId {
    std::uint64_t value = 0;  ///< the id

    /// The id with these parts.
    [[nodiscard]] static constexpr StreamId make(std::uint64_t index, StreamKind kind, Role opener) noexcept {
        return {(index << 2U) | (static_cast<std::uint64_t>(kind) << 1U) | static_cast<std::uint64_t>(opener)};
    }
    /// Which end opened it.
    [[nodiscard]] constexpr Role opener() const noexcept { return static_cast<Role>(value & 1U); }
    /// How it delivers.
    [[nodiscard]] constexpr StreamKind kind() const noexcept { return static_cast<StreamKind>((value >> 1U) & 1U); }
    /// Counts the streams of one opener and kind, from 0.
    [[nodiscard]] constexpr std::uint64_t index() const noexcept { return value >> 2U; }
    friend constexpr auto operator<=>(StreamId, StreamId) noexcept = default;  ///< By value.
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
