#include "openssl/tls_stream.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "os/system.hpp"

namespace udtx::openssl {
namespace {

Error no_tls() {
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return {ErrorCode::internal, std::string("cannot set up TLS: ") + (reason != nullptr ? reason : "unknown")};
}

/// P-256, which every client and middlebox knows. Nobody checks the certificate.
bool set_certificate(SSL_CTX* context) {
    const KeyPtr key(EVP_EC_gen("P-256"));
    const CertificatePtr certificate(X509_new());
    std::uint64_t serial = 0;
    if (!key || !certificate || RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
    X509* const x = certificate.get();
    X509_NAME* const name = X509_get_subject_name(x);
    const auto* const text = reinterpret_cast<const unsigned char*>("localhost");
    constexpr long kDay = 24 * 60 * 60;
    return X509_set_version(x, X509_VERSION_3) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1U) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(x), -kDay) != nullptr &&
           X509_gmtime_adj(X509_getm_notAfter(x), 365 * kDay) != nullptr &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
           X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key.get()) == 1 &&
           X509_sign(x, key.get(), EVP_sha256()) > 0 && SSL_CTX_use_certificate(context, x) == 1 &&
           SSL_CTX_use_PrivateKey(context, key.get()) == 1;
}

bool set_up(SSL_CTX* context, Role role) {
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // The datagrams inside show what is missing, so the end of TCP needs no message of TLS before it.
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_read_ahead(context, 1);
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1 &&
           (role == Role::client || set_certificate(context));
}

class TlsStream final : public os::ByteStream {
  public:
    TlsStream(SslPtr ssl, UniqueFd socket) : ssl_(std::move(ssl)), socket_(std::move(socket)) {}

    Moved read(std::span<std::byte> out) override {
        if (!open()) {
            auto moved = shake_hands();
            if (moved.over || !open()) return moved;
        }
        const auto most = static_cast<int>(std::min<std::size_t>(out.size(), INT_MAX));
        return moved(SSL_read(ssl_.get(), out.data(), most));
    }

    Moved write(std::span<const std::byte> bytes) override {
        if (!open()) {
            auto moved = shake_hands();
            if (moved.over || !open()) return moved;
        }
        const auto most = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
        return moved(SSL_write(ssl_.get(), bytes.data(), most));
    }

    void watch(bool to_write, std::vector<os::Watch>& watches) const override {
        const bool writable = open() ? to_write : wants_write_;
        watches.push_back({.fd = socket_.get(), .readable = true, .writable = writable});
    }

    bool open() const override { return SSL_is_init_finished(ssl_.get()) == 1; }

  private:
    Moved shake_hands() {
        ERR_clear_error();
        const int result = SSL_do_handshake(ssl_.get());
        return result == 1 ? Moved() : moved(result);
    }

    /// OpenSSL reports the errors of a thread in a queue, which is empty again after the call.
    Moved moved(int result) {
        if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
        const int error = SSL_get_error(ssl_.get(), result);
        const int number = errno;
        const char* const reason = ERR_reason_error_string(ERR_peek_error());
        std::string why = reason != nullptr ? reason : std::string();
        ERR_clear_error();
        wants_write_ = error == SSL_ERROR_WANT_WRITE;
        if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {};
        if (error == SSL_ERROR_SYSCALL && number != 0) {
            why = system_failure(ErrorCode::network, "TLS", number).message;
        }
        return {.bytes = 0, .over = std::move(why)};
    }

    SslPtr ssl_;
    UniqueFd socket_;
    bool wants_write_ = true;  // a client begins
};

}  // namespace

Result<std::shared_ptr<TlsStreams>> TlsStreams::make(Role role) {
    ERR_clear_error();
    ContextPtr context(SSL_CTX_new(role == Role::client ? TLS_client_method() : TLS_server_method()));
    if (!context || !set_up(context.get(), role)) return no_tls();
    return std::shared_ptr<TlsStreams>(new TlsStreams(role, std::move(context)));
}

Result<std::unique_ptr<os::ByteStream>> TlsStreams::over(UniqueFd connected, const std::string& server_name) {
    ERR_clear_error();
    const int flags = ::fcntl(connected.get(), F_GETFL);
    if (flags < 0 || ::fcntl(connected.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
        return system_failure(ErrorCode::network, "TCP socket", errno);
    }
    SslPtr ssl(SSL_new(context_.get()));
    if (!ssl || SSL_set_fd(ssl.get(), connected.get()) != 1) return no_tls();
    if (role_ == Role::client) {
        if (!server_name.empty() && SSL_set_tlsext_host_name(ssl.get(), server_name.c_str()) != 1) return no_tls();
        SSL_set_connect_state(ssl.get());
    } else {
        SSL_set_accept_state(ssl.get());
    }
    return std::unique_ptr<os::ByteStream>(std::make_unique<TlsStream>(std::move(ssl), std::move(connected)));
}

}  // namespace udtx::openssl
