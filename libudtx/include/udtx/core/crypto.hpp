// What the core needs of a cryptographic library. udtx::transport has it from OpenSSL; a program that uses the core
// alone gives an Endpoint its own. All calls but those of an Aead come on the protocol thread.
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

/// The interface to a cryptographic library.
namespace udtx::crypto {

/// AEADs of data packets. The values are those on the wire.
enum class Cipher : std::uint8_t {
    aes_256_gcm = 1,        ///< RFC 5116, section 5.2
    chacha20_poly1305 = 2,  ///< RFC 8439, section 2.8
};
inline constexpr std::size_t kKeyBytes = 32;    ///< size of a key of either
inline constexpr std::size_t kIvBytes = 12;     ///< size of a nonce of either
inline constexpr std::size_t kTagBytes = 16;    ///< size of a tag of either
using Secret = std::array<std::byte, 32>;       ///< output of HKDF or HMAC with SHA-256
using Nonce = std::array<std::byte, kIvBytes>;  ///< path and packet number, docs/using/security.md

/// "aes-256-gcm" or "chacha20-poly1305".
[[nodiscard]] UDTX_EXPORT std::string_view to_string(Cipher cipher) noexcept;

/// An AEAD with one key. One thread at a time calls it; contexts are reused between calls.
class UDTX_EXPORT Aead {
  public:
    virtual ~Aead() = default;
    /// Encrypts the packet between the header and the last kTagBytes in place, and writes the tag there. The header, of
    /// `header_bytes`, is the associated data.
    virtual void seal(const Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) = 0;
    /// Decrypts the same bytes in place. False: the tag does not match.
    [[nodiscard]] virtual bool open(const Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) = 0;
};

/// A key of one direction, with an Aead for the protocol thread and one for each lane. For the library's own code.
struct PacketKey;
/// Lanes share it, and may use it longer than the connection does.
using PacketKeyPtr = std::shared_ptr<const PacketKey>;

/// Makes AEADs, and derives keys.
class UDTX_EXPORT Provider {
  public:
    virtual ~Provider() = default;
    /// An AEAD with a key of kKeyBytes.
    [[nodiscard]] virtual std::unique_ptr<Aead> make_aead(Cipher cipher, std::span<const std::byte> key) = 0;
    /// HKDF-Extract with SHA-256 (RFC 5869, section 2.2).
    virtual Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) = 0;
    /// HKDF-Expand with SHA-256 (RFC 5869, section 2.3); fills `out`.
    virtual void hkdf_expand(const Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) = 0;
    /// HMAC with SHA-256 (RFC 2104).
    virtual Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) = 0;
};

/// A TLS 1.3 handshake (RFC 8446): takes bytes of CRYPTO frames, and gives bytes for them. The core calls provide() and
/// take_output() until complete(), then export_secret() and peer_parameters().
class UDTX_EXPORT Handshake {
  public:
    virtual ~Handshake() = default;
    /// Takes bytes in order; a client starts with none. authentication, protocol: the handshake has failed.
    virtual Result<void> provide(std::span<const std::byte> bytes) = 0;
    /// Bytes to send, or none. After a failed provide() they are the TLS alert.
    [[nodiscard]] virtual std::vector<std::byte> take_output() = 0;
    /// The handshake has finished.
    [[nodiscard]] virtual bool complete() const = 0;
    /// Exporter (RFC 8446, section 7.5), without a context. Only after complete().
    virtual Result<Secret> export_secret(std::string_view label) = 0;
    /// Transport parameters of the peer, which the transcript authenticates; empty: they have not come.
    [[nodiscard]] virtual std::span<const std::byte> peer_parameters() const = 0;
    /// Public key by which the peer has proved who it is, after complete(); empty with a pre-shared key.
    [[nodiscard]] virtual std::span<const std::byte> peer_key() const { return {}; }
};

/// Makes handshakes with the credentials of this end. The core encodes the transport parameters, which travel in an
/// extension of TLS.
class UDTX_EXPORT HandshakeFactory {
  public:
    virtual ~HandshakeFactory() = default;
    /// A client, with its parameters.
    virtual std::unique_ptr<Handshake> make_client(std::vector<std::byte> parameters) = 0;
    /// Gives the parameters of a server for those of a client.
    using SelectParameters = std::function<Result<std::vector<std::byte>>(std::span<const std::byte> client)>;
    /// A server. It calls `select` once, as soon as the parameters of the client have come.
    virtual std::unique_ptr<Handshake> make_server(SelectParameters select) = 0;
};

}  // namespace udtx::crypto
