#include "openssl/tls_error.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/tls1.h>

#include <string>

namespace udtx::openssl {
namespace {

Error authentication(std::string message) { return {ErrorCode::authentication, std::move(message)}; }

/// Explains the peer's alert for the credentials in use.
std::optional<Error> explain_alert(const TlsState& state, int alert) {
    const bool client = state.role == Role::client;
    switch (alert) {
        case SSL_AD_ILLEGAL_PARAMETER:  // the PSK binder did not verify
        case SSL_AD_DECRYPT_ERROR:
        case TLS1_AD_UNKNOWN_PSK_IDENTITY:
            if (state.uses_psk()) return authentication("wrong pre-shared key: the peer has another one");
            return std::nullopt;
        case SSL_AD_HANDSHAKE_FAILURE:
            return authentication(state.uses_psk() ? "the peer does not use a pre-shared key"
                                                   : "the peer does not use public keys: it may want a pre-shared key");
        case SSL_AD_BAD_CERTIFICATE:
            if (state.uses_psk())
                return authentication("the peer does not use a pre-shared key: it may want public keys");
            return authentication(client ? "this client's key is not authorised on the server: add " +
                                               raw_public_key(state.credentials->identity.get())->to_string() +
                                               " to its authorised keys"
                                         : "the client refused our key: it has pinned another one");
        case SSL_AD_UNSUPPORTED_EXTENSION:
            return Error{ErrorCode::protocol, "the peer refused our transport parameters"};
        default:
            return std::nullopt;
    }
}

std::optional<Error> explain_reason(const TlsState& state, unsigned long error) {
    switch (ERR_GET_REASON(error)) {
        case SSL_R_BINDER_DOES_NOT_VERIFY:
            return authentication("wrong pre-shared key: the peer has another one");
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return authentication("the client shows no key, and only authorised keys may connect");
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_MISSING_SIGALGS_EXTENSION:
            return authentication(state.uses_psk() ? "the client does not use our pre-shared key"
                                                   : "the client does not use Ed25519 keys");
        default:
            return std::nullopt;
    }
}

}  // namespace

Error describe_failure(const TlsState& state) {
    const unsigned long first = ERR_get_error();
    ERR_clear_error();
    if (state.failure) return *state.failure;
    if (state.received_alert) {
        if (auto error = explain_alert(state, *state.received_alert)) return *error;
        return {ErrorCode::protocol,
                std::string("the peer ended the handshake: ") + SSL_alert_desc_string_long(*state.received_alert)};
    }
    if (ERR_GET_LIB(first) == ERR_LIB_SSL) {
        if (auto error = explain_reason(state, first)) return *error;
    }
    const char* const reason = ERR_reason_error_string(first);
    return {ErrorCode::protocol, std::string("TLS handshake failed: ") + (reason != nullptr ? reason : "no reason")};
}

}  // namespace udtx::openssl
