// Keys. Either both ends hold one pre-shared key, or each end has an Ed25519 identity and pins the public keys of its
// peers, as known_hosts and authorized_keys of ssh do.
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

    /// Reads the text form. malformed: it is none.
    static Result<PublicKey> parse(std::string_view text);
    /// The text form, without a comment.
    [[nodiscard]] std::string to_string() const;
    friend auto operator<=>(const PublicKey&, const PublicKey&) noexcept = default;  ///< By bytes.
};

/// The keys of one end. Copies are cheap and independent. Any number of threads may use an object while none calls
/// trust() or trust_file(). Key bytes are overwritten when the last copy goes.
class UDTX_EXPORT Credentials {
  public:
    static constexpr std::size_t kPskBytes = 32;  ///< size of a pre-shared key

    /// Reads a pre-shared key from a file of write_psk_file() or `udtx-send keygen`. file_io: it cannot be read;
    /// authentication: group or others can read it; malformed: it holds no key.
    static Result<Credentials> from_psk_file(const std::filesystem::path& path);
    /// A pre-shared key from memory: random bytes, not a password.
    static Credentials from_psk(std::span<const std::byte, kPskBytes> key);
    /// Reads an identity from a file of write_identity() or `udtx-send keygen --identity`: an Ed25519 private key in
    /// PEM. It connects to nobody and accepts nobody until trust(). Errors as those of from_psk_file().
    static Result<Credentials> from_identity_file(const std::filesystem::path& path);

    /// Pins the key of a peer: on a client that of the server, on a server that of a client that may connect.
    /// invalid_argument: this is a pre-shared key.
    Result<void> trust(const PublicKey& peer);
    /// trust() for each line of a file; empty lines and lines that start with '#' are skipped. On an error nothing is
    /// added.
    Result<void> trust_file(const std::filesystem::path& path);

    /// It is a pre-shared key.
    [[nodiscard]] bool uses_psk() const noexcept;
    /// The public key of this end, for peers to trust; nullopt with a pre-shared key.
    [[nodiscard]] std::optional<PublicKey> public_key() const;

    /// Makes a file with a new random pre-shared key, mode 0600. file_io: it cannot be made, or exists.
    static Result<void> write_psk_file(const std::filesystem::path& path);
    /// Makes a new random identity: the private key in `path` (mode 0600), the public key in `path` + ".pub". file_io:
    /// they cannot be made, or exist.
    static Result<void> write_identity(const std::filesystem::path& path);

    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<const openssl::CredentialsData>& data() const noexcept { return data_; }

  private:
    explicit Credentials(std::shared_ptr<const openssl::CredentialsData> data) : data_(std::move(data)) {}
    std::shared_ptr<const openssl::CredentialsData> data_;
};

}  // namespace udtx
