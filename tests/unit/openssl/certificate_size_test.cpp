// The size of a certificate that any peer may send before it has proved that it holds a key.
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string>

#include "openssl/handles.hpp"
#include "tls_pair.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

constexpr unsigned kParametersExtension = 0xffa5;

int add_parameters(SSL*, unsigned, unsigned, const unsigned char** out, std::size_t* bytes, X509*, std::size_t, int*,
                   void*) {
    static constexpr std::array<unsigned char, 3> kParameters{1, 2, 3};
    *out = kParameters.data();
    *bytes = kParameters.size();
    return 1;
}

openssl::CertificatePtr make_certificate(EVP_PKEY* key, std::size_t bytes) {
    openssl::CertificatePtr certificate(X509_new());
    X509* const x = certificate.get();
    const std::string text(bytes, 'x');
    const std::unique_ptr<ASN1_IA5STRING, openssl::Deleter<ASN1_IA5STRING_free>> comment(ASN1_IA5STRING_new());
    REQUIRE(ASN1_STRING_set(comment.get(), text.data(), static_cast<int>(text.size())) == 1);
    REQUIRE(X509_set_version(x, X509_VERSION_3) == 1);
    REQUIRE(ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1);
    REQUIRE(ASN1_TIME_set_string_X509(X509_getm_notBefore(x), "20000101000000Z") == 1);
    REQUIRE(ASN1_TIME_set_string_X509(X509_getm_notAfter(x), "99991231235959Z") == 1);
    REQUIRE(X509_add1_ext_i2d(x, NID_netscape_comment, comment.get(), 0, X509V3_ADD_DEFAULT) == 1);
    REQUIRE(X509_set_pubkey(x, key) == 1);
    REQUIRE(X509_sign(x, key, nullptr) != 0);
    return certificate;
}

/// Connects to a server that has the pinned key and a certificate of slightly more than `bytes`; returns the result.
Result<void> connect_to_server_of(std::size_t bytes) {
    const TemporaryDirectory directory;
    const openssl::KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    PublicKey pinned;
    std::size_t size = pinned.bytes.size();
    REQUIRE(EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(pinned.bytes.data()), &size) == 1);
    Credentials own = identity(directory, "own");
    REQUIRE(own.trust(pinned).ok());
    const auto factory = openssl::TlsHandshakeFactory::make(own);
    REQUIRE(factory.ok());
    const auto client = (*factory)->make_client(from_text("parameters"));

    const openssl::ContextPtr context(SSL_CTX_new(TLS_server_method()));
    const auto certificate = make_certificate(key.get(), bytes);
    REQUIRE(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
    REQUIRE(SSL_CTX_add_custom_ext(context.get(), kParametersExtension,
                                   SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS, add_parameters, nullptr,
                                   nullptr, nullptr, nullptr) == 1);
    const openssl::SslPtr server(SSL_new(context.get()));
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    SSL_set_bio(server.get(), in, out);

    REQUIRE(client->provide({}).ok());
    const auto hello = client->take_output();
    REQUIRE(BIO_write(in, hello.data(), static_cast<int>(hello.size())) > 0);
    (void)SSL_accept(server.get());
    std::vector<std::byte> answer(BIO_ctrl_pending(out));
    REQUIRE(answer.size() > bytes);
    REQUIRE(BIO_read(out, answer.data(), static_cast<int>(answer.size())) > 0);
    auto result = client->provide(answer);
    CHECK(client->complete() == result.ok());
    return result;
}

}  // namespace

TEST_CASE("A certificate has 8 KB at most, whoever shows it") {
    CHECK(connect_to_server_of(7'000).ok());
    CHECK_FALSE(connect_to_server_of(9'000).ok());
}
