// TLS 1.3 handshakes with OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "openssl/credentials.hpp"
#include "openssl/handles.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/credentials.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

// The data that the TLS callbacks have about their handshake.

struct TlsState {
    Role role = Role::client;
    std::shared_ptr<const CredentialsData> credentials;
    crypto::HandshakeFactory::SelectParameters select;  // servers only
    std::vector<std::byte> own_parameters;
    std::optional<std::vector<std::byte>> peer_parameters;
    std::optional<PublicKey> peer_key;
    std::optional<Error> failure;       // the cause, set by one of our callbacks
    std::optional<int> received_alert;  // RFC 8446, section 6

    [[nodiscard]] bool uses_psk() const noexcept { return credentials->psk.has_value(); }
};

/// Returns the state that attach_state() set for this handshake.
[[nodiscard]] TlsState* state_of(const SSL* ssl) noexcept;
[[nodiscard]] bool attach_state(SSL* ssl, TlsState* state) noexcept;

// Explains to a user in one line why a TLS handshake failed.

/// Reads and clears OpenSSL's error queue.
[[nodiscard]] Error describe_failure(const TlsState& state);

// Makes SSL_CTX objects, with all settings and callbacks of both roles.

/// Call attach_state() for every SSL made from it, before its first byte.
[[nodiscard]] Result<ContextPtr> make_context(Role role, const CredentialsData& credentials);

// Implements crypto::Handshake with OpenSSL: TLS 1.3 over memory BIOs.

/// Makes any number of handshakes in either role from one set of credentials. A handshake may outlive its factory.
class TlsHandshakeFactory final : public crypto::HandshakeFactory {
  public:
    /// On success OpenSSL has found every algorithm that a handshake needs; otherwise it returns an error.
    static Result<std::unique_ptr<TlsHandshakeFactory>> make(const Credentials& credentials);
    ~TlsHandshakeFactory() override;

    std::unique_ptr<crypto::Handshake> make_client(std::vector<std::byte> parameters) override;
    std::unique_ptr<crypto::Handshake> make_server(SelectParameters select) override;

  private:
    class Contexts;
    explicit TlsHandshakeFactory(std::unique_ptr<Contexts> contexts);
    Result<void> rehearse();
    std::unique_ptr<Contexts> contexts_;
};

}  // namespace udtx::openssl
