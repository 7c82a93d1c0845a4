#include "openssl/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <string>

#include "openssl/tls_state.hpp"

namespace udtx::openssl {
namespace {

constexpr unsigned kParametersExtension = 0xffa5;  // private-use range (RFC 8446, section 11)
constexpr std::size_t kMaxParameters = 2048;
constexpr std::size_t kMaxCertificateBytes = 8192;  // a self-signed Ed25519 certificate has about 300
constexpr std::string_view kPskIdentity = "udtx";
constexpr std::array<unsigned char, 2> kPskCipher = {0x13, 0x02};  // TLS_AES_256_GCM_SHA384

int state_index() noexcept {
    static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

// ---- transport parameters

int add_parameters(SSL* ssl, unsigned, unsigned, const unsigned char** out, std::size_t* bytes, X509*, std::size_t,
                   int*, void*) {
    const TlsState* const state = state_of(ssl);
    *out = as_uchar(state->own_parameters.data());
    *bytes = state->own_parameters.size();
    return 1;
}

/// A server receives a second ClientHello only after its own HelloRetryRequest. The parameters in it must equal those
/// of the first.
bool accept_parameters(TlsState& state, std::span<const std::byte> parameters) {
    if (parameters.size() > kMaxParameters) {
        state.failure = Error{ErrorCode::protocol, "the peer's transport parameters are too large"};
        return false;
    }
    if (state.peer_parameters) return std::ranges::equal(*state.peer_parameters, parameters);
    state.peer_parameters.emplace(parameters.begin(), parameters.end());
    if (state.role == Role::client) return true;
    auto selected = state.select(parameters);
    if (!selected) {
        state.failure = selected.error();
        return false;
    }
    state.own_parameters = std::move(*selected);
    return true;
}

int parse_parameters(SSL* ssl, unsigned, unsigned, const unsigned char* in, std::size_t bytes, X509*, std::size_t,
                     int* alert, void*) {
    if (accept_parameters(*state_of(ssl), std::as_bytes(std::span(in, bytes)))) return 1;
    *alert = SSL_AD_UNSUPPORTED_EXTENSION;  // no other step of this handshake sends this alert
    return 0;
}

// ---- pre-shared key

SessionPtr make_psk_session(SSL* ssl, const CredentialsData::Psk& psk) {
    SessionPtr session(SSL_SESSION_new());
    const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kPskCipher.data());
    if (!session || cipher == nullptr ||
        SSL_SESSION_set1_master_key(session.get(), as_uchar(psk.data()), psk.size()) != 1 ||
        SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
        return nullptr;
    }
    return session;
}

int offer_psk(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* id_bytes, SSL_SESSION** session) {
    SessionPtr made = make_psk_session(ssl, *state_of(ssl)->credentials->psk);
    if (!made) return 0;
    *id = reinterpret_cast<const unsigned char*>(kPskIdentity.data());
    *id_bytes = kPskIdentity.size();
    *session = made.release();
    return 1;
}

int find_psk(SSL* ssl, const unsigned char* id, std::size_t id_bytes, SSL_SESSION** session) {
    *session = nullptr;  // with return value 1: identity unknown, continue without it
    if (std::string_view(reinterpret_cast<const char*>(id), id_bytes) != kPskIdentity) return 1;
    SessionPtr made = make_psk_session(ssl, *state_of(ssl)->credentials->psk);
    if (!made) return 0;
    *session = made.release();
    return 1;
}

// ---- pinned keys

std::string why_not_trusted(const TlsState& state, const std::optional<PublicKey>& key) {
    const bool client = state.role == Role::client;
    if (state.uses_psk()) return "the server does not use our pre-shared key: it shows a certificate instead";
    if (!key) return "the peer's key is not Ed25519";
    if (client) return "the server's key is not the pinned one: it shows " + key->to_string();
    return "the client's key is not authorised: " + key->to_string();
}

/// Replaces all of X.509 validation. The pinned key is the trust anchor and needs no clock, names or chain. The peer's
/// CertificateVerify proves that it holds the private key.
int verify_peer(X509_STORE_CTX* store, void*) {
    const auto* const ssl =
        static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    TlsState& state = *state_of(ssl);
    const X509* const certificate = X509_STORE_CTX_get0_cert(store);
    const auto key = certificate == nullptr ? std::nullopt : raw_public_key(X509_get0_pubkey(certificate));
    if (!state.uses_psk() && key && state.credentials->trusted.contains(*key)) {
        state.peer_key = key;
        X509_STORE_CTX_set_error(store, X509_V_OK);
        return 1;
    }
    state.failure = Error{ErrorCode::authentication, why_not_trusted(state, key)};
    // These errors become the alerts that tell the peer the cause: handshake_failure and bad_certificate.
    X509_STORE_CTX_set_error(store, state.uses_psk() ? X509_V_ERR_APPLICATION_VERIFICATION : X509_V_ERR_CERT_REJECTED);
    return 0;
}

/// A certificate that only carries the public key. Names and dates in it are never checked.
CertificatePtr make_certificate(EVP_PKEY* key) {
    CertificatePtr certificate(X509_new());
    std::uint64_t serial = 0;
    if (!certificate || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return nullptr;
    X509* const x = certificate.get();
    X509_NAME* const name = X509_get_subject_name(x);
    const auto* const text = reinterpret_cast<const unsigned char*>("udtx");
    if (X509_set_version(x, X509_VERSION_3) != 1 ||
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1U) != 1 ||
        ASN1_TIME_set_string_X509(X509_getm_notBefore(x), "20000101000000Z") != 1 ||
        ASN1_TIME_set_string_X509(X509_getm_notAfter(x), "99991231235959Z") != 1 ||
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) != 1 ||
        X509_set_issuer_name(x, name) != 1 || X509_set_pubkey(x, key) != 1 || X509_sign(x, key, nullptr) == 0) {
        return nullptr;
    }
    return certificate;
}

// ---- the context

void note_alert(const SSL* ssl, int where, int value) {
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) state_of(ssl)->received_alert = value & 0xff;
}

bool set_common(SSL_CTX* context) {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(context, static_cast<long>(kMaxCertificateBytes));
    SSL_CTX_set_info_callback(context, note_alert);
    SSL_CTX_set_cert_verify_callback(context, verify_peer, nullptr);
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1 &&
           SSL_CTX_set_max_early_data(context, 0) == 1 &&
           SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384") == 1 &&
           SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1 &&
           SSL_CTX_add_custom_ext(context, kParametersExtension,
                                  SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS, add_parameters, nullptr,
                                  nullptr, parse_parameters, nullptr) == 1;
}

bool set_identity(SSL_CTX* context, EVP_PKEY* key) {
    const CertificatePtr certificate = make_certificate(key);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    return certificate && SSL_CTX_use_certificate(context, certificate.get()) == 1 &&
           SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_set1_sigalgs_list(context, "ed25519") == 1;
}

void set_psk(SSL_CTX* context, Role role) {
    if (role == Role::client) {
        SSL_CTX_set_psk_use_session_callback(context, offer_psk);
        // verify_peer() refuses a server that answers with a certificate instead.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    } else {
        SSL_CTX_set_psk_find_session_callback(context, find_psk);
    }
}

}  // namespace

TlsState* state_of(const SSL* ssl) noexcept {
    auto* const state = static_cast<TlsState*>(SSL_get_ex_data(ssl, state_index()));
    assert(state != nullptr);
    return state;
}

bool attach_state(SSL* ssl, TlsState* state) noexcept { return SSL_set_ex_data(ssl, state_index(), state) == 1; }

Result<ContextPtr> make_context(Role role, const CredentialsData& credentials) {
    ERR_clear_error();
    ContextPtr context(SSL_CTX_new(role == Role::client ? TLS_client_method() : TLS_server_method()));
    bool good = context && set_common(context.get());
    if (good && credentials.psk) {
        set_psk(context.get(), role);
    } else if (good) {
        good = set_identity(context.get(), credentials.identity.get());
    }
    if (good) return context;
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    const std::string text = reason != nullptr ? reason : "unknown";
    ERR_clear_error();
    return Error{ErrorCode::internal, "cannot set up TLS: " + text};
}

}  // namespace udtx::openssl
