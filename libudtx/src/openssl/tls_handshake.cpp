#include "openssl/tls_handshake.hpp"

#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sslerr.h>
#include <openssl/tls1.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/state_access.hpp"

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

/// OpenSSL 3.5 and newer add the hybrid group, which also resists quantum computers (draft-ietf-tls-ecdhe-mlkem). A
/// client sends the shares of the first two groups, marked by '*', so that a server without the hybrid one needs no
/// second ClientHello.
bool set_groups(SSL_CTX* context) {
    if (SSL_CTX_set1_groups_list(context, "*X25519MLKEM768:*X25519:P-256") == 1) return true;
    ERR_clear_error();
    return SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1;
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
           SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384") == 1 && set_groups(context) &&
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

namespace {

// The flights of one end have less than 3 KB. The rest is room for alerts and one repeated ClientHello.
constexpr std::size_t kMaxInput = 64U << 10U;

class TlsHandshake final : public crypto::Handshake {
  public:
    TlsHandshake(SSL_CTX* context, TlsState state) : state_(std::move(state)), ssl_(SSL_new(context)) {
        BioPtr in(BIO_new(BIO_s_mem()));
        BioPtr out(BIO_new(BIO_s_mem()));
        if (!ssl_ || !in || !out || !attach_state(ssl_.get(), &state_)) throw std::bad_alloc();
        in_ = in.get();
        out_ = out.get();
        SSL_set_bio(ssl_.get(), in.release(), out.release());
        if (state_.role == Role::client) {
            SSL_set_connect_state(ssl_.get());
        } else {
            SSL_set_accept_state(ssl_.get());
        }
    }

    Result<void> provide(std::span<const std::byte> bytes) override {
        if (failed_) return *failed_;
        received_ += bytes.size();
        if (received_ > kMaxInput) return fail({ErrorCode::protocol, "the peer's handshake is too long"});
        ERR_clear_error();
        if (!bytes.empty() && BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())) <= 0) {
            throw std::bad_alloc();
        }
        auto result = complete_ ? Result<void>() : negotiate();
        if (result && complete_) result = read_after();
        ERR_clear_error();
        return result;
    }

    std::vector<std::byte> take_output() override {
        std::vector<std::byte> output(BIO_ctrl_pending(out_));
        if (!output.empty() && BIO_read(out_, output.data(), static_cast<int>(output.size())) <= 0) output.clear();
        return output;
    }

    bool complete() const override { return complete_ && !failed_; }

    Result<crypto::Secret> export_secret(std::string_view label) override {
        if (!complete()) return Error{ErrorCode::internal, "the handshake is not complete"};
        crypto::Secret secret{};
        ERR_clear_error();
        const int good = SSL_export_keying_material(ssl_.get(), as_uchar(secret.data()), secret.size(), label.data(),
                                                    label.size(), nullptr, 0, 0);
        ERR_clear_error();
        if (good != 1) return Error{ErrorCode::internal, "TLS exports no keys"};
        return secret;
    }

    std::span<const std::byte> peer_parameters() const override {
        if (!state_.peer_parameters) return {};
        return *state_.peer_parameters;
    }

    std::span<const std::byte> peer_key() const override {
        if (!complete() || !state_.peer_key) return {};
        return state_.peer_key->bytes;
    }

  private:
    Result<void> fail(Error error) {
        failed_ = std::move(error);
        return *failed_;
    }

    Result<void> negotiate() {
        const int result = SSL_do_handshake(ssl_.get());
        if (result != 1) {
            return SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ ? Result<void>()
                                                                            : fail(describe_failure(state_));
        }
        if (!state_.peer_parameters) return fail({ErrorCode::protocol, "the peer sent no transport parameters"});
        // "Reused" means that the pre-shared key was accepted: there are no other sessions to resume here.
        if (state_.uses_psk() && SSL_session_reused(ssl_.get()) != 1) {
            return fail({ErrorCode::authentication, "the peer does not use our pre-shared key"});
        }
        complete_ = true;
        return {};
    }

    /// In TLS 1.3 the client's handshake completes before the server checks the client's certificate. The server's
    /// refusal arrives here.
    Result<void> read_after() {
        unsigned char byte = 0;
        const int result = SSL_read(ssl_.get(), &byte, 1);
        if (result > 0) return fail({ErrorCode::protocol, "the peer sent data in the handshake stream"});
        const int error = SSL_get_error(ssl_.get(), result);
        if (error == SSL_ERROR_WANT_READ) return {};
        return fail(describe_failure(state_));
    }

    TlsState state_;
    SslPtr ssl_;
    BIO* in_ = nullptr;  // owned by ssl_
    BIO* out_ = nullptr;
    std::size_t received_ = 0;
    bool complete_ = false;
    std::optional<Error> failed_;
};

}  // namespace

class TlsHandshakeFactory::Contexts {
  public:
    std::shared_ptr<const CredentialsData> credentials;
    ContextPtr client;
    ContextPtr server;
};

TlsHandshakeFactory::TlsHandshakeFactory(std::unique_ptr<Contexts> contexts) : contexts_(std::move(contexts)) {}
TlsHandshakeFactory::~TlsHandshakeFactory() = default;

Result<std::unique_ptr<TlsHandshakeFactory>> TlsHandshakeFactory::make(const Credentials& credentials) {
    auto contexts = std::make_unique<Contexts>();
    contexts->credentials = StateAccess::of(credentials);
    for (const Role role : {Role::client, Role::server}) {
        auto context = make_context(role, *contexts->credentials);
        if (!context) return context.error();
        (role == Role::client ? contexts->client : contexts->server) = std::move(*context);
    }
    auto factory = std::unique_ptr<TlsHandshakeFactory>(new TlsHandshakeFactory(std::move(contexts)));
    if (const auto rehearsed = factory->rehearse(); !rehearsed) return rehearsed.error();
    return factory;
}

/// Runs a handshake between two ends of our own. OpenSSL looks up an algorithm at its first use. If memory is short at
/// that moment, OpenSSL may treat the algorithm as missing until the process ends, and then every handshake fails.
Result<void> TlsHandshakeFactory::rehearse() {
    const auto trusting = std::make_shared<CredentialsData>(*contexts_->credentials);
    if (const auto own = raw_public_key(trusting->identity.get())) trusting->trusted.insert(*own);
    TlsState asks;
    asks.role = Role::client;
    asks.credentials = trusting;
    TlsState answers;
    answers.role = Role::server;
    answers.credentials = trusting;
    answers.select = [](std::span<const std::byte> offer) {
        return Result<std::vector<std::byte>>(std::vector<std::byte>(offer.begin(), offer.end()));
    };
    TlsHandshake client(contexts_->client.get(), std::move(asks));
    TlsHandshake server(contexts_->server.get(), std::move(answers));
    auto good = client.provide({});
    if (good) good = server.provide(client.take_output());
    if (good) good = client.provide(server.take_output());
    if (good) good = server.provide(client.take_output());
    for (TlsHandshake* const end : {&client, &server}) {
        if (!good) break;
        if (const auto secret = end->export_secret("rehearsal"); !secret) good = secret.error();
    }
    if (good) return {};
    return Error{ErrorCode::internal, "cannot set up TLS: " + good.error().message};
}

std::unique_ptr<crypto::Handshake> TlsHandshakeFactory::make_client(std::vector<std::byte> parameters) {
    TlsState state;
    state.role = Role::client;
    state.credentials = contexts_->credentials;
    state.own_parameters = std::move(parameters);
    return std::make_unique<TlsHandshake>(contexts_->client.get(), std::move(state));
}

std::unique_ptr<crypto::Handshake> TlsHandshakeFactory::make_server(SelectParameters select) {
    TlsState state;
    state.role = Role::server;
    state.credentials = contexts_->credentials;
    state.select = std::move(select);
    return std::make_unique<TlsHandshake>(contexts_->server.get(), std::move(state));
}

}  // namespace udtx::openssl
