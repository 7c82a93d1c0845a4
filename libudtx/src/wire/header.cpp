#include "wire/header.hpp"

#include "udtx/version.hpp"
#include "wire/cursor.hpp"

namespace udtx {

std::vector<std::uint32_t> wire_versions() {
    std::vector<std::uint32_t> numbers;
    for (const std::uint32_t version : wire::kVersions) numbers.push_back(wire::number_of(version).value_or(version));
    return numbers;
}

}  // namespace udtx

namespace udtx::wire {

namespace {

constexpr std::uint8_t kLongForm = 0x80;
constexpr std::uint8_t kFixedBit = 0x40;
constexpr std::uint8_t kKeyPhase = 0x20;
constexpr std::uint8_t kPairSecond = 0x10;
constexpr std::uint8_t kShortReserved = 0x0f;
constexpr std::uint8_t kLongReserved = 0x4f;
constexpr unsigned kTypeShift = 4;
constexpr unsigned kNumberBits = 24;  // of the packet number in a short header, behind the path id
constexpr std::uint32_t kNumberMask = (1U << kNumberBits) - 1;

// Parses the fields behind the ids, which depend on the type. Returns false if they are malformed.
bool parse_after_ids(Reader& in, LongHeader& header) {
    switch (header.type) {
        case LongType::hello: {
            const auto length = in.varint();
            if (!length || *length > kMaxTokenBytes) return false;
            const auto token = in.bytes(static_cast<std::size_t>(*length));
            if (!token) return false;
            header.token = *token;
            [[fallthrough]];
        }
        case LongType::handshake: {
            const auto number = in.u32();
            header.packet_number = number.value_or(0);
            return number && in.remaining() >= kTagBytes;
        }
        case LongType::retry: {
            if (in.remaining() <= kTagBytes || in.remaining() > kTagBytes + kMaxTokenBytes) return false;
            header.token = *in.bytes(in.remaining() - kTagBytes);
            return true;
        }
        case LongType::version_negotiation:
            return true;
    }
    return false;
}

}  // namespace

std::optional<LongHeader> parse_long_header(std::span<const std::byte> datagram) {
    if (!is_long_header(datagram) || datagram.size() < kLongHeaderBytes) return std::nullopt;
    Reader in(datagram);
    const std::uint8_t flags = *in.u8();
    LongHeader header;
    header.version = *in.u32();
    header.destination = ConnectionId{*in.u64()};
    header.source = ConnectionId{*in.u64()};
    header.header_bytes = in.position();
    const bool negotiation = header.version == 0;
    if (!speaks(header.version) && !negotiation) return header;  // its type bits may have any meaning

    header.type = static_cast<LongType>((flags >> kTypeShift) & 3U);
    if ((flags & kLongReserved) != 0) return std::nullopt;
    if (negotiation != (header.type == LongType::version_negotiation)) return std::nullopt;
    const bool chosen = header.type == LongType::hello || header.type == LongType::handshake;
    if (chosen && header.source.value > kMaxChosenId) return std::nullopt;
    if (!parse_after_ids(in, header)) return std::nullopt;
    header.header_bytes = in.position();
    return header;
}

std::optional<ShortHeader> parse_short_header(std::span<const std::byte> datagram) {
    if (datagram.size() < kShortHeaderBytes + kTagBytes) return std::nullopt;
    Reader in(datagram);
    const std::uint8_t flags = *in.u8();
    if ((flags & (kLongForm | kFixedBit | kShortReserved)) != kFixedBit) return std::nullopt;
    ShortHeader header;
    header.destination = ConnectionId{*in.u32()};
    const std::uint32_t path_and_number = *in.u32();
    header.path = PathId{static_cast<std::uint8_t>(path_and_number >> kNumberBits)};
    header.packet_number = path_and_number & kNumberMask;
    header.key_phase = (flags & kKeyPhase) != 0;
    header.pair_second = (flags & kPairSecond) != 0;
    return header;
}

std::size_t write_long_header(const LongHeader& header, std::span<std::byte> out) {
    if (header.token.size() > kMaxTokenBytes) return 0;
    Writer w(out);
    const auto type = static_cast<unsigned>(header.type);
    const bool negotiation = header.type == LongType::version_negotiation;
    bool fits = w.u8(static_cast<std::uint8_t>(kLongForm | (type << kTypeShift))) &&
                w.u32(negotiation ? 0 : header.version) && w.u64(header.destination.value) &&
                w.u64(header.source.value);
    if (header.type == LongType::hello) fits = fits && w.varint(header.token.size());
    if (header.type == LongType::hello || header.type == LongType::retry) fits = fits && w.bytes(header.token);
    if (header.type == LongType::hello || header.type == LongType::handshake)
        fits = fits && w.u32(header.packet_number);
    return fits ? w.size() : 0;
}

std::size_t write_short_header(const ShortHeader& header, std::span<std::byte> out) {
    if (out.size() < kShortHeaderBytes) return 0;
    Writer w(out);
    w.u8(static_cast<std::uint8_t>(kFixedBit | (header.key_phase ? kKeyPhase : 0) |
                                   (header.pair_second ? kPairSecond : 0)));
    w.u32(static_cast<std::uint32_t>(header.destination.value));
    w.u32(std::uint32_t{header.path.value} << kNumberBits | (header.packet_number & kNumberMask));
    return w.size();
}

PacketNumber expand_packet_number(std::uint32_t truncated, PacketNumber expected) noexcept {
    constexpr PacketNumber window = 1ULL << kNumberBits;
    constexpr PacketNumber half = window / 2;
    const PacketNumber candidate = (expected & ~(window - 1)) | (truncated & kNumberMask);
    if (candidate + half <= expected && candidate < kVarintMax + 1 - window) return candidate + window;
    if (candidate > expected + half && candidate >= window) return candidate - window;
    return candidate;
}

}  // namespace udtx::wire
