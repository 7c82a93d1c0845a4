// The key of one direction in one generation, and how a packet's nonce is made from it.
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
    /// The same key once more for each lane: an Aead is not thread-safe.
    std::vector<std::unique_ptr<Aead>> lanes{};
};

/// iv xor (path id as 32-bit big endian || packet number as 64-bit big endian).
[[nodiscard]] Nonce make_nonce(const Nonce& iv, PathId path, PacketNumber number) noexcept;

/// HKDF-Expand with the info of HKDF-Expand-Label (RFC 8446, section 7.1), an empty context and labels "udtx2 <label>":
/// output length as u16, label length as u8, label, 0.
void expand_label(Provider& provider, const Secret& secret, std::string_view label, std::span<std::byte> out);

/// Key ("key") and IV ("iv") of one traffic secret.
[[nodiscard]] PacketKey derive_packet_key(Provider& provider, Cipher cipher, const Secret& secret,
                                          std::size_t lanes = 0);

/// Protects the handshake packets against corruption and off-path forgery, not against someone who reads the first
/// packet: the input is public, as with QUIC's Initial keys (RFC 9001, section 5.2).
struct InitialKeys {
    PacketKey client;  ///< seals what the client sends
    PacketKey server;
};

/// From the destination id of the client's very first packet; AES-256-GCM.
[[nodiscard]] InitialKeys derive_initial(Provider& provider, ConnectionId original_destination);

using Tag = std::array<std::byte, kTagBytes>;

/// Tag of a RETRY packet: an empty payload sealed with the server's initial key, header and cookie as associated data.
[[nodiscard]] Tag retry_tag(Provider& provider, ConnectionId original_destination,
                            std::span<const std::byte> header_and_token);
/// `packet` is the whole RETRY datagram, its last kTagBytes the tag.
[[nodiscard]] bool check_retry_tag(Provider& provider, ConnectionId original_destination,
                                   std::span<const std::byte> packet);

}  // namespace udtx::crypto
