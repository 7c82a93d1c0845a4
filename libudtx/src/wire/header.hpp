// Packet headers. Handshake packets have a long header, data packets a short one. Layouts: docs/inside/wire-format.md.
// The same in every version: the flag 0x80, version and ids of the long header, and version negotiation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/release.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::wire {

/// Versions that this release speaks, the newest first. Each is "udx" and a number.
inline constexpr std::uint32_t kFirstLasting = 0x75647804;
inline constexpr std::array kVersions = [] {
    if constexpr (kFuture) {
        return std::array<std::uint32_t, 2>{kFirstLasting + 1, kFirstLasting};
    } else {
        return std::array<std::uint32_t, 1>{kFirstLasting};
    }
}();
inline constexpr std::uint32_t kVersion = kVersions.front();
[[nodiscard]] constexpr bool speaks(std::uint32_t version) noexcept {
    return std::ranges::find(kVersions, version) != kVersions.end();
}
/// The number of a version of udtx, as people read it; nullopt for the version of another protocol.
[[nodiscard]] constexpr std::optional<std::uint32_t> number_of(std::uint32_t version) noexcept {
    if (version >> 8U != kVersion >> 8U) return std::nullopt;
    return version & 0xffU;
}
using crypto::kTagBytes;
inline constexpr std::size_t kShortHeaderBytes = 9;  // flags 1, connection id 4, path 1, packet number 3
inline constexpr std::size_t kLongHeaderBytes = 21;  // flags 1, version 4, destination id 8, source id 8
inline constexpr std::size_t kMinInitialDatagram = 1200;
/// On paths that do not carry that: what an IPv4 packet of 576 bytes holds, which all hosts accept (RFC 791, 3.1).
inline constexpr std::size_t kLeastInitialDatagram = 548;
inline constexpr std::size_t kMaxTokenBytes = 128;

enum class LongType : std::uint8_t {
    hello = 0,                ///< from the client until it knows the server's connection id; carries the cookie
    retry = 1,                ///< from the server: stateless cookie
    handshake = 2,            ///< from both ends: CRYPTO, ACK
    version_negotiation = 3,  ///< from the server: the versions that it supports
};

struct LongHeader {
    LongType type = LongType::hello;
    std::uint32_t version = kVersion;  ///< 0 if and only if the type is version negotiation
    ConnectionId destination;
    ConnectionId source;
    std::span<const std::byte> token;  ///< hello: cookie (may be empty); retry: the cookie; else empty
    std::uint32_t packet_number = 0;   ///< only in hello and handshake
    std::size_t header_bytes = 0;      ///< set by the parser: bytes before the sealed payload
};

struct ShortHeader {
    ConnectionId destination;
    PathId path;
    std::uint32_t packet_number = 0;  ///< low 24 bits; the writer ignores the higher bits
    bool key_phase = false;
    bool pair_second = false;  ///< sent back to back with the preceding packet number (packet pair)
};

[[nodiscard]] inline bool is_long_header(std::span<const std::byte> d) noexcept {
    return !d.empty() && (d[0] & std::byte{0x80}) != std::byte{0};
}

/// The parsers return nullopt for a datagram that is not a packet of udtx. It is too short for its tag, or has a clear
/// fixed bit, a set reserved bit, an unknown type, a token too long, or a source id too large for a short header. If a
/// long header has none of kVersions, only version, ids and header_bytes are meaningful, and its type reads as hello.
[[nodiscard]] std::optional<LongHeader> parse_long_header(std::span<const std::byte> datagram);
[[nodiscard]] std::optional<ShortHeader> parse_short_header(std::span<const std::byte> datagram);

/// The writers return the number of bytes written; 0 if `out` is too small or the token too long. Version negotiation
/// gets version 0, whatever `header` says. The caller appends its list of versions (u32 each), or the tag of a retry.
std::size_t write_long_header(const LongHeader& header, std::span<std::byte> out);
std::size_t write_short_header(const ShortHeader& header, std::span<std::byte> out);

/// The full packet number that is nearest to `expected` and has these low 24 bits (RFC 9000, appendix A.3).
[[nodiscard]] PacketNumber expand_packet_number(std::uint32_t truncated, PacketNumber expected) noexcept;

}  // namespace udtx::wire
