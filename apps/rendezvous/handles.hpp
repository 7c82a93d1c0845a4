// Owning pointers to OpenSSL objects.
#pragma once

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstddef>
#include <memory>
#include <new>

namespace udtx::apps {

template <auto Free>
struct FreeWith {
    template <class T>
    void operator()(T* p) const noexcept {
        Free(p);
    }
};

using CipherContextPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;
using KdfPtr = std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>>;
using KdfContextPtr = std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>>;
using GroupPtr = std::unique_ptr<EC_GROUP, FreeWith<EC_GROUP_free>>;
using PointPtr = std::unique_ptr<EC_POINT, FreeWith<EC_POINT_clear_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeWith<BN_clear_free>>;
using NumberContextPtr = std::unique_ptr<BN_CTX, FreeWith<BN_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<X509_free>>;
using TlsContextPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using TlsPtr = std::unique_ptr<SSL, FreeWith<SSL_free>>;

/// For calls that fail only if memory or the default provider is missing.
inline void must(bool good) {
    if (!good) throw std::bad_alloc();
}

[[nodiscard]] inline const unsigned char* as_uchar(const std::byte* p) noexcept {
    return reinterpret_cast<const unsigned char*>(p);
}
[[nodiscard]] inline unsigned char* as_uchar(std::byte* p) noexcept { return reinterpret_cast<unsigned char*>(p); }

}  // namespace udtx::apps
