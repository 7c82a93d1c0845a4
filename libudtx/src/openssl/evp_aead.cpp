#include <cassert>
#include <cstdlib>
#include <new>

#include "openssl/evp_aead.hpp"

namespace udtx::openssl {
namespace {

// Encryption with an initialised context needs no memory, so a failure is our own bug. Continuing would send plaintext.
void require(int result) {
    if (result != 1) std::abort();
}

/// Expands the key once; each packet only sets the nonce.
class EvpAead final : public crypto::Aead {
  public:
    EvpAead(const EVP_CIPHER* algorithm, std::span<const std::byte> key)
        : seal_(make_context(algorithm, key, true)), open_(make_context(algorithm, key, false)) {}

    void seal(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        assert(packet.size() >= header_bytes + crypto::kTagBytes);
        EVP_CIPHER_CTX* const context = seal_.get();
        unsigned char* const data = as_uchar(packet.data());
        unsigned char* const payload = data + header_bytes;
        const auto payload_bytes = static_cast<int>(packet.size() - header_bytes - crypto::kTagBytes);
        int written = 0;
        require(EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, as_uchar(nonce.data())));
        require(EVP_EncryptUpdate(context, nullptr, &written, data, static_cast<int>(header_bytes)));
        if (payload_bytes > 0) require(EVP_EncryptUpdate(context, payload, &written, payload, payload_bytes));
        require(EVP_EncryptFinal_ex(context, payload + payload_bytes, &written));
        require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(crypto::kTagBytes),
                                    payload + payload_bytes));
    }

    bool open(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        if (packet.size() < header_bytes + crypto::kTagBytes) return false;
        EVP_CIPHER_CTX* const context = open_.get();
        unsigned char* const data = as_uchar(packet.data());
        unsigned char* const payload = data + header_bytes;
        const auto payload_bytes = static_cast<int>(packet.size() - header_bytes - crypto::kTagBytes);
        int written = 0;
        require(EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, as_uchar(nonce.data())));
        require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(crypto::kTagBytes),
                                    payload + payload_bytes));
        require(EVP_DecryptUpdate(context, nullptr, &written, data, static_cast<int>(header_bytes)));
        if (payload_bytes > 0) require(EVP_DecryptUpdate(context, payload, &written, payload, payload_bytes));
        return EVP_DecryptFinal_ex(context, payload + payload_bytes, &written) == 1;
    }

  private:
    static CipherContextPtr make_context(const EVP_CIPHER* algorithm, std::span<const std::byte> key, bool encrypt) {
        CipherContextPtr context(EVP_CIPHER_CTX_new());
        if (!context) throw std::bad_alloc();
        // The default nonce length of both algorithms is the 12 bytes of crypto::Nonce.
        if (EVP_CipherInit_ex(context.get(), algorithm, nullptr, as_uchar(key.data()), nullptr, encrypt ? 1 : 0) != 1)
            throw std::bad_alloc();
        return context;
    }

    CipherContextPtr seal_;
    CipherContextPtr open_;
};

}  // namespace

std::unique_ptr<crypto::Aead> make_evp_aead(const EVP_CIPHER* algorithm, std::span<const std::byte> key) {
    assert(key.size() == crypto::kKeyBytes);
    return std::make_unique<EvpAead>(algorithm, key);
}

}  // namespace udtx::openssl
