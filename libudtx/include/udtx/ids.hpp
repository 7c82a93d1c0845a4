// Strong identifiers that appear on the wire and in reports.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace udtx {

/// Connection id, chosen at random by the end that receives packets carrying it. What an end chooses for itself is at
/// most kMaxChosenId, so that data packets carry 4 bytes of it; the name that a client makes up for a server which has
/// not spoken yet has 8.
struct ConnectionId {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(ConnectionId, ConnectionId) noexcept = default;
};
inline constexpr std::uint64_t kMaxChosenId = 0xffffffff;

/// A path within a connection; part of the AEAD nonce. The first path is 0.
struct PathId {
    std::uint8_t value = 0;
    friend constexpr auto operator<=>(PathId, PathId) noexcept = default;
};

/// Packet numbers count transmissions on one path and are never reused.
using PacketNumber = std::uint64_t;

/// Which end opened the connection.
enum class Role : std::uint8_t { client = 0, server = 1 };

/// Ordered: in-order bytes through a bounded buffer. Placed: pieces at their offset as they come, no reordering buffer.
enum class StreamKind : std::uint8_t { ordered = 0, placed = 1 };

/// Stream id: bit 0 = opener (Role), bit 1 = StreamKind, the rest a counter. Ordered streams carry bytes both ways,
/// placed streams only from their opener.
struct StreamId {
    std::uint64_t value = 0;

    [[nodiscard]] static constexpr StreamId make(std::uint64_t index, StreamKind kind, Role opener) noexcept {
        return {(index << 2U) | (static_cast<std::uint64_t>(kind) << 1U) | static_cast<std::uint64_t>(opener)};
    }
    [[nodiscard]] constexpr Role opener() const noexcept { return static_cast<Role>(value & 1U); }
    [[nodiscard]] constexpr StreamKind kind() const noexcept { return static_cast<StreamKind>((value >> 1U) & 1U); }
    [[nodiscard]] constexpr std::uint64_t index() const noexcept { return value >> 2U; }
    friend constexpr auto operator<=>(StreamId, StreamId) noexcept = default;
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
