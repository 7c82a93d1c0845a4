#include "rendezvous/tls.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <array>
#include <string>

namespace udtx::apps {
namespace {

constexpr long kCertificateSeconds = 10L * 365 * 24 * 3600;
// A NAT may forget a TCP connection after some minutes without a packet.
constexpr int kIdleSeconds = 30;
constexpr int kProbeSeconds = 10;
constexpr int kProbes = 6;

Error lacks(const char* what) {
    std::array<char, 256> reason{};
    ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
    ERR_clear_error();
    return {ErrorCode::internal, std::string("cannot set up TLS: ") + what + ": " + reason.data()};
}

/// A certificate needs a name and times, which nobody reads.
CertificatePtr self_signed(EVP_PKEY* key) {
    CertificatePtr certificate(X509_new());
    X509* const made = certificate.get();
    if (made == nullptr || X509_set_version(made, X509_VERSION_3) != 1) return nullptr;
    X509_NAME* const name = X509_get_subject_name(made);
    const auto* const text = reinterpret_cast<const unsigned char*>("udtx relay");
    const bool good = ASN1_INTEGER_set(X509_get_serialNumber(made), 1) == 1 &&
                      X509_gmtime_adj(X509_getm_notBefore(made), 0) != nullptr &&
                      X509_gmtime_adj(X509_getm_notAfter(made), kCertificateSeconds) != nullptr &&
                      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
                      X509_set_issuer_name(made, name) == 1 && X509_set_pubkey(made, key) == 1 &&
                      X509_sign(made, key, EVP_sha256()) != 0;
    return good ? std::move(certificate) : nullptr;
}

Result<TlsContextPtr> make_tls(const SSL_METHOD* method) {
    TlsContextPtr context(SSL_CTX_new(method));
    if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) return lacks("TLS 1.3");
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    return context;
}

}  // namespace

Result<TlsContextPtr> make_relay_tls() {
    auto context = make_tls(TLS_server_method());
    if (!context) return context;
    const KeyPtr key(EVP_EC_gen("P-256"));
    if (!key) return lacks("a key");
    const CertificatePtr certificate = self_signed(key.get());
    if (!certificate || SSL_CTX_use_certificate(context->get(), certificate.get()) != 1 ||
        SSL_CTX_use_PrivateKey(context->get(), key.get()) != 1) {
        return lacks("a certificate");
    }
    SSL_CTX_set_num_tickets(context->get(), 0);
    return context;
}

Result<TlsContextPtr> make_client_tls() {
    auto context = make_tls(TLS_client_method());
    if (context) SSL_CTX_set_verify(context->get(), SSL_VERIFY_NONE, nullptr);
    return context;
}

void keep_alive(int socket) noexcept {
    const auto set = [&](int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
    set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
#endif
}

}  // namespace udtx::apps
