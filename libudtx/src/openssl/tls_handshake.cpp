#include "openssl/tls_handshake.hpp"

#include <openssl/err.h>

#include <cassert>
#include <new>
#include <string>
#include <utility>

#include "openssl/tls_context.hpp"
#include "openssl/tls_error.hpp"
#include "openssl/tls_state.hpp"

namespace udtx::openssl {
namespace {

// Both flights together have less than 2 KB. The rest is room for alerts and one repeated ClientHello.
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
    contexts->credentials = credentials.data();
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
