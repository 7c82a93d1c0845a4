// Keys for authentication. Either both ends hold one pre-shared key, or each end has an Ed25519 identity and pins the
// public keys of its peers, as ssh does with known_hosts and authorized_keys.
//
//     auto psk = udtx::Credentials::from_psk_file("key");
//     auto own = udtx::Credentials::from_identity_file("id");   // then own->trust_file("authorized_keys")
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

namespace openssl {
struct CredentialsData;
}

/// An Ed25519 public key. Text form: "udtx-ed25519 BASE64", optionally followed by a comment.
struct UDTX_EXPORT PublicKey {
    std::array<std::byte, 32> bytes{};  ///< RFC 8032, section 5.1.5

    /// Parses the text form. malformed: the text is not a public key.
    static Result<PublicKey> parse(std::string_view text);
    /// Returns the text form, without a comment.
    [[nodiscard]] std::string to_string() const;
    friend auto operator<=>(const PublicKey&, const PublicKey&) noexcept = default;  ///< Compares the bytes.
};

/// The keys of one end. Copies are cheap and independent. Several threads may use an object at the same time, except
/// while one calls trust() or trust_file(). The key bytes are overwritten when the last copy is destroyed.
class UDTX_EXPORT Credentials {
  public:
    static constexpr std::size_t kPskBytes = 32;  ///< size of a pre-shared key, bytes

    /// Reads a pre-shared key from a file that write_psk_file() or `udtx-send keygen` made. file_io: the file cannot be
    /// read. authentication: group or others may read the file. malformed: the file contains no key.
    static Result<Credentials> from_psk_file(const std::filesystem::path& path);
    /// Uses a pre-shared key from memory. It must be random bytes, not a password.
    static Credentials from_psk(std::span<const std::byte, kPskBytes> key);
    /// Reads an identity from a file that write_identity() or `udtx-send keygen --identity` made: an Ed25519 private
    /// key in PEM. It connects to nobody and accepts nobody until trust() is called. Errors as in from_psk_file().
    static Result<Credentials> from_identity_file(const std::filesystem::path& path);

    /// Pins the public key of a peer. A client pins the key of the server; a server pins the key of each client that
    /// may connect. invalid_argument: this object holds a pre-shared key.
    Result<void> trust(const PublicKey& peer);
    /// Calls trust() for each line of a file. Empty lines and lines that start with '#' are skipped. After an error no
    /// key is added.
    Result<void> trust_file(const std::filesystem::path& path);

    /// True if this object pins the public key `peer`.
    [[nodiscard]] bool trusts(const PublicKey& peer) const;
    /// True if this is a pre-shared key.
    [[nodiscard]] bool uses_psk() const noexcept;
    /// The public key of this end, which its peers trust; nullopt with a pre-shared key.
    [[nodiscard]] std::optional<PublicKey> public_key() const;

    /// Creates a file with a new random pre-shared key, mode 0600. file_io: it cannot be created, or it exists.
    static Result<void> write_psk_file(const std::filesystem::path& path);
    /// Creates a new random identity: the private key in `path` (mode 0600), the public key in `path` + ".pub".
    /// file_io: the files cannot be created, or one exists.
    static Result<void> write_identity(const std::filesystem::path& path);

  private:
    friend struct StateAccess;
    explicit Credentials(std::shared_ptr<const openssl::CredentialsData> data) : state_(std::move(data)) {}
    std::shared_ptr<const openssl::CredentialsData> state_;
};

}  // namespace udtx
