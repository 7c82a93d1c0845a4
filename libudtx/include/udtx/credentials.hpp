// Who we are and whom we trust. Two models: a pre-shared key that both ends hold, or an Ed25519 identity on each end
// with the peers' public keys pinned (like ssh's known_hosts and authorized_keys).
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
    std::array<std::byte, 32> bytes{};

    static Result<PublicKey> parse(std::string_view text);
    [[nodiscard]] std::string to_string() const;
    friend auto operator<=>(const PublicKey&, const PublicKey&) noexcept = default;
};

/// Immutable but for trust*(); copies are cheap and independent. Key bytes are overwritten when the last copy goes.
class UDTX_EXPORT Credentials {
  public:
    static constexpr std::size_t kPskBytes = 32;

    /// A file made by write_psk_file(). authentication: others can read it; malformed: not such a file.
    static Result<Credentials> from_psk_file(const std::filesystem::path& path);
    static Credentials from_psk(std::span<const std::byte, kPskBytes> key);
    /// An Ed25519 private key in PEM form, as made by write_identity(). Without a trusted peer it connects to nobody
    /// and accepts nobody.
    static Result<Credentials> from_identity_file(const std::filesystem::path& path);

    /// Only with an identity. Adds a peer: on a client the server's key, on a server an authorised client's.
    Result<void> trust(const PublicKey& peer);
    /// One key a line; empty lines and lines that start with '#' are skipped. All lines are good, or nothing is added.
    Result<void> trust_file(const std::filesystem::path& path);

    [[nodiscard]] bool uses_psk() const noexcept;
    /// Our own, to be given to peers; nullopt with a pre-shared key.
    [[nodiscard]] std::optional<PublicKey> public_key() const;

    /// Makes a random pre-shared key, mode 0600. Never overwrites.
    static Result<void> write_psk_file(const std::filesystem::path& path);
    /// Makes a random identity: private key in `path` (mode 0600), public key in `path` + ".pub". Never overwrites.
    static Result<void> write_identity(const std::filesystem::path& path);

    /// For the library's own TLS code.
    [[nodiscard]] const std::shared_ptr<const openssl::CredentialsData>& data() const noexcept { return data_; }

  private:
    explicit Credentials(std::shared_ptr<const openssl::CredentialsData> data) : data_(std::move(data)) {}
    std::shared_ptr<const openssl::CredentialsData> data_;
};

}  // namespace udtx
