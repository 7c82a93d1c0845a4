// Randomness, ciphers and handshakes, which a program hands to the core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx {

// Random bytes for the core. A program uses those of the operating system, a simulator uses a seeded generator. They
// become connection ids, challenges and gaps in packet numbers. Except in simulators nobody may be able to predict
// them.

/// A source of random bytes.
class UDTX_EXPORT Rng {
  public:
    virtual ~Rng() = default;
    /// Fills `out`.
    virtual void fill(std::span<std::byte> out) = 0;

    /// Returns 64 random bits.
    [[nodiscard]] std::uint64_t next_u64() {
        std::uint64_t v = 0;
        fill(std::as_writable_bytes(std::span(&v, 1)));
        return v;
    }
};

}  // namespace udtx

// The interface to a cryptographic library. udtx::transport implements it with OpenSSL. A program that uses only the
// core passes its own implementation to an Endpoint. The protocol thread makes all calls, except those of an Aead.

/// The interface to a cryptographic library.
namespace udtx::crypto {

/// AEADs of data packets. The values are those on the wire.
enum class Cipher : std::uint8_t {
    aes_256_gcm = 1,        ///< RFC 5116, section 5.2
    chacha20_poly1305 = 2,  ///< RFC 8439, section 2.8
};
inline constexpr std::size_t kKeyBytes = 32;    ///< key size of both ciphers, bytes
inline constexpr std::size_t kIvBytes = 12;     ///< nonce size of both ciphers, bytes
inline constexpr std::size_t kTagBytes = 16;    ///< tag size of both ciphers, bytes
using Secret = std::array<std::byte, 32>;       ///< output of HKDF or HMAC with SHA-256
using Nonce = std::array<std::byte, kIvBytes>;  ///< made from path and packet number, see docs/using/security.md

/// Name of a cipher: "aes-256-gcm" or "chacha20-poly1305".
[[nodiscard]] UDTX_EXPORT std::string_view to_string(Cipher cipher) noexcept;

/// An AEAD with one key. Only one thread at a time may call it, because its contexts are reused between calls.
class UDTX_EXPORT Aead {
  public:
    virtual ~Aead() = default;
    /// Encrypts in place the part of the packet between the header and the last kTagBytes, and writes the tag into
    /// those. The first `header_bytes` are the header; it is the associated data.
    virtual void seal(const Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) = 0;
    /// Decrypts the same part in place. False: the tag does not match.
    [[nodiscard]] virtual bool open(const Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) = 0;
};

/// The key of one direction, with an Aead for the protocol thread and one for each packet thread. Programs only pass it
/// on.
struct PacketKey;
/// A shared key. Packet threads may use it for longer than the connection exists.
using PacketKeyPtr = std::shared_ptr<const PacketKey>;

/// Makes AEADs and derives keys.
class UDTX_EXPORT Provider {
  public:
    virtual ~Provider() = default;
    /// Makes an AEAD with a key of kKeyBytes.
    [[nodiscard]] virtual std::unique_ptr<Aead> make_aead(Cipher cipher, std::span<const std::byte> key) = 0;
    /// HKDF-Extract with SHA-256 (RFC 5869, section 2.2).
    virtual Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) = 0;
    /// HKDF-Expand with SHA-256 (RFC 5869, section 2.3); fills `out`.
    virtual void hkdf_expand(const Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) = 0;
    /// HMAC with SHA-256 (RFC 2104).
    virtual Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) = 0;
};

/// A TLS 1.3 handshake (RFC 8446). It consumes and produces the bytes of CRYPTO frames. The core calls provide() and
/// take_output() until complete() is true, then export_secret() and peer_parameters().
class UDTX_EXPORT Handshake {
  public:
    virtual ~Handshake() = default;
    /// Consumes bytes in order; the first call of a client has no bytes. authentication, protocol: the handshake has
    /// failed.
    virtual Result<void> provide(std::span<const std::byte> bytes) = 0;
    /// Returns bytes to send, or none. After a failed provide() they are the TLS alert.
    [[nodiscard]] virtual std::vector<std::byte> take_output() = 0;
    /// True if the handshake has finished.
    [[nodiscard]] virtual bool complete() const = 0;
    /// The TLS exporter (RFC 8446, section 7.5), without a context. Call it only after complete() is true.
    virtual Result<Secret> export_secret(std::string_view label) = 0;
    /// Transport parameters of the peer, authenticated by the transcript; empty: they have not arrived.
    [[nodiscard]] virtual std::span<const std::byte> peer_parameters() const = 0;
    /// Public key with which the peer has authenticated itself, once complete() is true; empty with a pre-shared key.
    [[nodiscard]] virtual std::span<const std::byte> peer_key() const { return {}; }
};

/// Makes handshakes with the credentials of this end. The core encodes the transport parameters. They are sent in a TLS
/// extension.
class UDTX_EXPORT HandshakeFactory {
  public:
    virtual ~HandshakeFactory() = default;
    /// Makes the client's side of a handshake, with its transport parameters.
    virtual std::unique_ptr<Handshake> make_client(std::vector<std::byte> parameters) = 0;
    /// Computes the server's transport parameters from those of the client.
    using SelectParameters = std::function<Result<std::vector<std::byte>>(std::span<const std::byte> client)>;
    /// Makes the server's side of a handshake. It calls `select` once, as soon as the client's parameters have arrived.
    virtual std::unique_ptr<Handshake> make_server(SelectParameters select) = 0;
};

}  // namespace udtx::crypto
