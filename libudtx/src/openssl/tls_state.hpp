// The data that the TLS callbacks have about their handshake.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "openssl/credentials_data.hpp"
#include "openssl/handles.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

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

}  // namespace udtx::openssl
