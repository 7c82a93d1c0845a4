#include "crypto/packet_key.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>

#include "crypto/bytes.hpp"
#include "crypto/wipe.hpp"
#include "wire/cursor.hpp"

namespace udtx::crypto {
namespace {

constexpr std::string_view kLabelPrefix = "udtx2 ";

// The first 20 bytes of SHA-256("udtx-2 initial salt"). Versions 2 and 3 have the same handshake packets and the same
// salt.
constexpr std::array<std::uint8_t, 20> kInitialSalt = {0x06, 0xc1, 0x7f, 0xef, 0xe8, 0xea, 0x7b, 0xbd, 0x85, 0xb1,
                                                       0x4f, 0xe3, 0x9f, 0x99, 0x1d, 0xfd, 0xbf, 0x75, 0x90, 0x90};

// Handshake packets count up from 0 on path 0, so they never use this nonce.
constexpr PathId kRetryPath{0xff};
constexpr PacketNumber kRetryNumber = std::numeric_limits<PacketNumber>::max();

}  // namespace

Nonce make_nonce(const Nonce& iv, PathId path, PacketNumber number) noexcept {
    // Stored in pieces of 8 and 4 bytes, as ciphers load it. A load that spans several stores waits for all earlier
    // stores, which are those of the packet.
    Nonce nonce;
    const std::uint64_t high = std::uint64_t{path.value} << 32U | number >> 32U;
    const auto low = static_cast<std::uint32_t>(number);
    wire::store_network(nonce.data(), high ^ wire::load_network<std::uint64_t>(iv.data()));
    wire::store_network(nonce.data() + 8, low ^ wire::load_network<std::uint32_t>(iv.data() + 8));
    return nonce;
}

void expand_label(Provider& provider, const Secret& secret, std::string_view label, std::span<std::byte> out) {
    std::array<std::byte, 64> info{};
    const std::size_t label_bytes = kLabelPrefix.size() + label.size();
    const std::size_t info_bytes = 2 + 1 + label_bytes + 1;
    assert(info_bytes <= info.size());
    auto rest = put_big_endian(std::span<std::byte>(info), static_cast<std::uint16_t>(out.size()));
    rest = put_big_endian(rest, static_cast<std::uint8_t>(label_bytes));
    const auto prefix = std::as_bytes(std::span(kLabelPrefix));
    std::copy(prefix.begin(), prefix.end(), rest.begin());
    const auto text = std::as_bytes(std::span(label));
    std::copy(text.begin(), text.end(), rest.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
    provider.hkdf_expand(secret, std::span<const std::byte>(info).first(info_bytes), out);
}

PacketKey derive_packet_key(Provider& provider, Cipher cipher, const Secret& secret, std::size_t lanes) {
    PacketKey result;
    std::array<std::byte, kKeyBytes> key{};
    expand_label(provider, secret, "key", key);
    expand_label(provider, secret, "iv", result.iv);
    result.aead = provider.make_aead(cipher, key);
    for (std::size_t i = 0; i < lanes; ++i) result.lanes.push_back(provider.make_aead(cipher, key));
    wipe(key);
    return result;
}

namespace {

Secret initial_secret(Provider& provider, ConnectionId original_destination) {
    std::array<std::byte, 8> id{};
    put_big_endian(std::span<std::byte>(id), original_destination.value);
    return provider.hkdf_extract(std::as_bytes(std::span(kInitialSalt)), id);
}

PacketKey initial_key(Provider& provider, const Secret& initial, std::string_view label) {
    Secret secret{};
    expand_label(provider, initial, label, secret);
    return derive_packet_key(provider, Cipher::aes_256_gcm, secret);
}

}  // namespace

InitialKeys derive_initial(Provider& provider, ConnectionId original_destination) {
    const Secret initial = initial_secret(provider, original_destination);
    return {initial_key(provider, initial, "client in"), initial_key(provider, initial, "server in")};
}

Tag retry_tag(Provider& provider, ConnectionId original_destination, std::span<const std::byte> header_and_token) {
    const PacketKey key = initial_key(provider, initial_secret(provider, original_destination), "server in");
    std::vector<std::byte> packet(header_and_token.begin(), header_and_token.end());
    packet.resize(packet.size() + kTagBytes);
    key.aead->seal(make_nonce(key.iv, kRetryPath, kRetryNumber), packet, header_and_token.size());
    Tag tag{};
    std::copy(packet.end() - static_cast<std::ptrdiff_t>(kTagBytes), packet.end(), tag.begin());
    return tag;
}

bool check_retry_tag(Provider& provider, ConnectionId original_destination, std::span<const std::byte> packet) {
    if (packet.size() < kTagBytes) return false;
    const std::size_t clear = packet.size() - kTagBytes;
    return equal_in_constant_time(retry_tag(provider, original_destination, packet.first(clear)),
                                  packet.subspan(clear));
}

}  // namespace udtx::crypto
