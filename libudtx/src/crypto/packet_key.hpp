// The key of one direction in one generation, and the nonce of a packet.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::crypto {

struct PacketKey {
    std::unique_ptr<Aead> aead;
    Nonce iv{};
    /// The same key again for each lane, because an Aead is not thread-safe.
    std::vector<std::unique_ptr<Aead>> lanes{};
};

/// iv xor (path id as 32-bit big endian || packet number as 64-bit big endian).
[[nodiscard]] Nonce make_nonce(const Nonce& iv, PathId path, PacketNumber number) noexcept;

/// HKDF-Expand with the info of HKDF-Expand-Label (RFC 8446, section 7.1), an empty context and labels "udtx2 <label>".
/// The info is: output length as u16, label length as u8, label, 0.
void expand_label(Provider& provider, const Secret& secret, std::string_view label, std::span<std::byte> out);

/// Derives the key (label "key") and the IV (label "iv") from one traffic secret.
[[nodiscard]] PacketKey derive_packet_key(Provider& provider, Cipher cipher, const Secret& secret,
                                          std::size_t lanes = 0);

/// Protects the handshake packets against corruption and off-path forgery. It does not protect them from a reader of
/// the first packet: the input is public, as with QUIC's Initial keys (RFC 9001, section 5.2).
struct InitialKeys {
    PacketKey client;  ///< seals packets from the client
    PacketKey server;
};

/// Derives the keys from the destination id of the client's first packet. The cipher is AES-256-GCM.
[[nodiscard]] InitialKeys derive_initial(Provider& provider, ConnectionId original_destination);

using Tag = std::array<std::byte, kTagBytes>;

/// Tag of a RETRY packet: an empty payload, sealed with the server's initial key. Header and cookie are the associated
/// data.
[[nodiscard]] Tag retry_tag(Provider& provider, ConnectionId original_destination,
                            std::span<const std::byte> header_and_token);
/// `packet`: the whole RETRY datagram; its last kTagBytes are the tag.
[[nodiscard]] bool check_retry_tag(Provider& provider, ConnectionId original_destination,
                                   std::span<const std::byte> packet);

}  // namespace udtx::crypto
