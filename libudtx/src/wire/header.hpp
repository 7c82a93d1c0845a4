// Packet headers. Long headers carry the handshake, the short header carries data. Layouts: docs/inside/wire-format.md.
// What survives every version: the flag 0x80, the long header's version and ids, and version negotiation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::wire {

inline constexpr std::uint32_t kVersion = 0x75647803;  // "udx" 3
using crypto::kTagBytes;
inline constexpr std::size_t kShortHeaderBytes = 9;  // flags 1, connection id 4, path 1, packet number 3
inline constexpr std::size_t kLongHeaderBytes = 21;  // flags 1, version 4, destination id 8, source id 8
inline constexpr std::size_t kMinInitialDatagram = 1200;
inline constexpr std::size_t kMaxTokenBytes = 128;

enum class LongType : std::uint8_t {
    hello = 0,                ///< client, until it knows the server's connection id; carries the cookie
    retry = 1,                ///< server: stateless cookie
    handshake = 2,            ///< both: CRYPTO, ACK
    version_negotiation = 3,  ///< server: versions that it speaks
};

struct LongHeader {
    LongType type = LongType::hello;
    std::uint32_t version = kVersion;  ///< 0 exactly in version negotiation
    ConnectionId destination;
    ConnectionId source;
    std::span<const std::byte> token;  ///< hello: cookie (may be empty); retry: the cookie; else empty
    std::uint32_t packet_number = 0;   ///< hello and handshake
    std::size_t header_bytes = 0;      ///< set by the parser: bytes before the sealed payload
};

struct ShortHeader {
    ConnectionId destination;
    PathId path;
    std::uint32_t packet_number = 0;  ///< low 24 bits; the writer drops what lies above
    bool key_phase = false;
    bool pair_second = false;  ///< left back to back after the packet with the number before (packet pair)
};

[[nodiscard]] inline bool is_long_header(std::span<const std::byte> d) noexcept {
    return !d.empty() && (d[0] & std::byte{0x80}) != std::byte{0};
}

/// nullopt: not a packet of ours (too short for its tag, fixed bit clear, reserved bit set, unknown type, token too
/// long, source id that no short header could carry). Of a long header with another version than kVersion only version,
/// ids and header_bytes are meaningful; its type reads as hello.
[[nodiscard]] std::optional<LongHeader> parse_long_header(std::span<const std::byte> datagram);
[[nodiscard]] std::optional<ShortHeader> parse_short_header(std::span<const std::byte> datagram);

/// Bytes written, 0 when `out` is too small or the token too long. Version negotiation gets version 0, whatever the
/// header says; the list of versions (u32 each) is the caller's to append, as is a retry's tag.
std::size_t write_long_header(const LongHeader& header, std::span<std::byte> out);
std::size_t write_short_header(const ShortHeader& header, std::span<std::byte> out);

/// The full packet number nearest to `expected` with these low 24 bits (RFC 9000, appendix A.3).
[[nodiscard]] PacketNumber expand_packet_number(std::uint32_t truncated, PacketNumber expected) noexcept;

}  // namespace udtx::wire
