// What the core needs of a cryptographic library. Whoever has the sessions of udtx/session.hpp has OpenSSL's; a program
// that brings its own hands it to an Endpoint. All calls but those of an Aead come on the protocol thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::crypto {

enum class Cipher : std::uint8_t { aes_256_gcm = 1, chacha20_poly1305 = 2 };
inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kIvBytes = 12;
inline constexpr std::size_t kTagBytes = 16;
using Secret = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, kIvBytes>;

[[nodiscard]] UDTX_EXPORT std::string_view to_string(Cipher cipher) noexcept;

/// One key of one direction. Not thread-safe; contexts are reused between calls.
class UDTX_EXPORT Aead {
  public:
    virtual ~Aead() = default;
    /// Seals `packet[header_bytes, size - tag)` in place and fills the last kTagBytes; the header is associated data.
    virtual void seal(const Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) = 0;
    /// Opens in place; false when the tag does not match. The plaintext is packet[header_bytes, size - tag).
    [[nodiscard]] virtual bool open(const Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) = 0;
};

/// A key of the library's own in one direction, with an Aead for the protocol thread and one for each lane.
struct PacketKey;
/// Shared with lanes, which may still work with a key that the connection has left behind.
using PacketKeyPtr = std::shared_ptr<const PacketKey>;

class UDTX_EXPORT Provider {
  public:
    virtual ~Provider() = default;
    [[nodiscard]] virtual std::unique_ptr<Aead> make_aead(Cipher cipher, std::span<const std::byte> key) = 0;
    /// HKDF-Extract and HKDF-Expand with SHA-256 (RFC 5869).
    virtual Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) = 0;
    virtual void hkdf_expand(const Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) = 0;
    virtual Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) = 0;
};

/// TLS 1.3 as a byte-stream machine: bytes of CRYPTO frames in, bytes for CRYPTO frames out.
/// Order: [start on the client] provide/take_output until complete(); then export_secret and peer_parameters.
class UDTX_EXPORT Handshake {
  public:
    virtual ~Handshake() = default;
    /// Feeds in-order handshake bytes (empty to start a client). authentication or protocol error: fatal.
    virtual Result<void> provide(std::span<const std::byte> bytes) = 0;
    /// Bytes to send, possibly none. Valid also after a failed provide() (the TLS alert).
    [[nodiscard]] virtual std::vector<std::byte> take_output() = 0;
    [[nodiscard]] virtual bool complete() const = 0;
    /// RFC 8446 section 7.5 exporter; only when complete().
    virtual Result<Secret> export_secret(std::string_view label) = 0;
    /// The peer's transport parameters, authenticated by the transcript; empty until they came.
    [[nodiscard]] virtual std::span<const std::byte> peer_parameters() const = 0;
    /// The public key by which the peer proved itself, once complete; empty with a pre-shared key.
    [[nodiscard]] virtual std::span<const std::byte> peer_key() const { return {}; }
};

/// Creates handshakes with the credentials that the tool was given. `parameters` are our encoded transport
/// parameters. On a server they may depend on the client's: `select` is called with the client's as soon as they are
/// known and returns ours.
class UDTX_EXPORT HandshakeFactory {
  public:
    virtual ~HandshakeFactory() = default;
    virtual std::unique_ptr<Handshake> make_client(std::vector<std::byte> parameters) = 0;
    using SelectParameters = std::function<Result<std::vector<std::byte>>(std::span<const std::byte> client)>;
    virtual std::unique_ptr<Handshake> make_server(SelectParameters select) = 0;
};

}  // namespace udtx::crypto
