// Packet headers: what parses can be written again and parses to the same. Packet numbers expand to the nearest value.
#include <algorithm>
#include <array>

#include "fuzz/require.hpp"
#include "wire/cursor.hpp"
#include "wire/header.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {1, "a parsed header is the same after writing and parsing it again"}};

using namespace udtx;
using namespace udtx::wire;
using udtx::fuzz::require;

namespace {

void check_long(std::span<const std::byte> input) {
    const auto header = parse_long_header(input);
    if (!header) return;
    require(header->header_bytes <= input.size(), "the header lies within the datagram");
    require(header->token.size() <= kMaxTokenBytes, "the token is bounded");
    if (header->version != kVersion && header->version != 0) return;

    std::array<std::byte, 256> memory{};
    const std::size_t written = write_long_header(*header, memory);
    require(written > 0 && written <= header->header_bytes, "a parsed header can be written");
    const auto again = parse_long_header(std::span(memory).first(written + kTagBytes));
    require(again.has_value(), "a written header can be parsed");
    require(again->type == header->type && again->version == header->version, "same type and version");
    require(again->destination == header->destination && again->source == header->source, "same ids");
    require(again->packet_number == header->packet_number, "same packet number");
    require(std::equal(again->token.begin(), again->token.end(), header->token.begin(), header->token.end()),
            "same token");
}

void check_short(std::span<const std::byte> input) {
    const auto header = parse_short_header(input);
    if (!header) return;
    require(!is_long_header(input), "a short header is not a long one");
    std::array<std::byte, kShortHeaderBytes> memory{};
    require(write_short_header(*header, memory) == kShortHeaderBytes, "a parsed header can be written");
    require(std::equal(memory.begin(), memory.end(), input.begin()), "short headers have one encoding");
}

void check_expansion(std::span<const std::byte> input) {
    Reader in(input);
    const auto truncated = in.u32();
    const auto expected = in.u64();
    if (!truncated || !expected) return;
    constexpr PacketNumber half = 1ULL << 23U;
    const PacketNumber near = *expected & kVarintMax;
    const PacketNumber number = expand_packet_number(*truncated, near);
    require((number & 0xffffff) == (*truncated & 0xffffff), "the low bits are those received");
    require(number <= kVarintMax, "packet numbers stay below 2^62");
    const PacketNumber distance = number > near ? number - near : near - number;
    const bool at_border = near < half || near > kVarintMax - half;
    require(distance <= half || at_border, "no other number is nearer");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    check_long(input);
    check_short(input);
    check_expansion(input);
    return 0;
}
