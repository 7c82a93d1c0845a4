#include "openssl/vector_aead.hpp"

#define NO_COMPAT_IMB_API_053  // the library's old names equal those of OpenSSL's functions
#include <immintrin.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "openssl/handles.hpp"

namespace udtx::openssl {
namespace {

using ManagerPtr = std::unique_ptr<IMB_MGR, Deleter<free_mb_mgr>>;

/// True if OpenSSL uses AES instructions: bit 57 of its processor capabilities, "OPENSSL_ia32cap=0x...:0x...".
bool openssl_sees_aes() {
    constexpr unsigned kAesBit = 57;
    const char* const settings = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
    const std::string_view text = settings == nullptr ? "" : settings;
    const auto value = text.find('=');
    if (value == std::string_view::npos) return false;
    return ((std::strtoull(text.data() + value + 1, nullptr, 16) >> kAesBit) & 1U) != 0;
}

/// Returns the library's function table for this processor.
ManagerPtr make_manager() {
    ManagerPtr manager(alloc_mb_mgr(0));
    if (!manager) return nullptr;
    init_mb_mgr_auto(manager.get(), nullptr);
    return manager->imb_errno == 0 ? std::move(manager) : nullptr;
}

/// Null if the processor lacks one of `features`. It is never freed, because threads of a session may outlive static
/// objects.
const IMB_MGR* manager_with(std::uint64_t features) {
    static const IMB_MGR* const once = make_manager().release();
    return once != nullptr && (once->features & features) == features ? once : nullptr;
}

/// Writes the nonce with one store, because the library loads it at once. After several partial stores that load would
/// wait until they, and all stores before them, reach the cache.
class WholeNonce {
  public:
    explicit WholeNonce(const crypto::Nonce& nonce) {
        std::int64_t head = 0;
        std::int32_t rest = 0;
        std::memcpy(&head, nonce.data(), sizeof head);
        std::memcpy(&rest, nonce.data() + sizeof head, sizeof rest);
        _mm_store_si128(&bytes_, _mm_set_epi64x(rest, head));
    }
    [[nodiscard]] const std::uint8_t* data() const noexcept { return reinterpret_cast<const std::uint8_t*>(&bytes_); }

  private:
    __m128i bytes_;
};

/// The parts of a packet for the library; `packet` holds at least header and tag.
struct Parts {
    Parts(std::span<std::byte> packet, std::size_t header_bytes)
        : header(as_uchar(packet.data())),
          payload(header + header_bytes),
          payload_bytes(packet.size() - header_bytes - crypto::kTagBytes),
          tag(payload + payload_bytes) {}

    std::uint8_t* header;
    std::uint8_t* payload;
    std::size_t payload_bytes;
    std::uint8_t* tag;
};

class VectorAesGcm final : public crypto::Aead {
  public:
    VectorAesGcm(const IMB_MGR& manager, std::span<const std::byte> key) : manager_(manager) {
        IMB_AES256_GCM_PRE(&manager_, key.data(), &key_);
    }
    ~VectorAesGcm() override {
        OPENSSL_cleanse(&key_, sizeof key_);
        OPENSSL_cleanse(&context_, sizeof context_);
    }
    VectorAesGcm(const VectorAesGcm&) = delete;
    VectorAesGcm& operator=(const VectorAesGcm&) = delete;

    void seal(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        assert(packet.size() >= header_bytes + crypto::kTagBytes);
        const Parts p(packet, header_bytes);
        IMB_AES256_GCM_ENC(&manager_, &key_, &context_, p.payload, p.payload, p.payload_bytes, WholeNonce(nonce).data(),
                           p.header, header_bytes, p.tag, crypto::kTagBytes);
    }

    bool open(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        if (packet.size() < header_bytes + crypto::kTagBytes) return false;
        const Parts p(packet, header_bytes);
        std::array<std::uint8_t, crypto::kTagBytes> tag{};
        IMB_AES256_GCM_DEC(&manager_, &key_, &context_, p.payload, p.payload, p.payload_bytes, WholeNonce(nonce).data(),
                           p.header, header_bytes, tag.data(), tag.size());
        return CRYPTO_memcmp(tag.data(), p.tag, tag.size()) == 0;
    }

  private:
    const IMB_MGR& manager_;
    alignas(64) gcm_key_data key_{};
    gcm_context_data context_{};
};

/// Uses the library's direct functions, which need no per-thread state.
class VectorChaCha final : public crypto::Aead {
  public:
    VectorChaCha(const IMB_MGR& manager, std::span<const std::byte> key) : manager_(manager) {
        std::memcpy(key_.data(), key.data(), key_.size());
    }
    ~VectorChaCha() override {
        OPENSSL_cleanse(key_.data(), key_.size());
        OPENSSL_cleanse(&context_, sizeof context_);
    }
    VectorChaCha(const VectorChaCha&) = delete;
    VectorChaCha& operator=(const VectorChaCha&) = delete;

    void seal(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        assert(packet.size() >= header_bytes + crypto::kTagBytes);
        const Parts p(packet, header_bytes);
        IMB_CHACHA20_POLY1305_INIT(&manager_, key_.data(), &context_, WholeNonce(nonce).data(), p.header, header_bytes);
        IMB_CHACHA20_POLY1305_ENC_UPDATE(&manager_, key_.data(), &context_, p.payload, p.payload, p.payload_bytes);
        IMB_CHACHA20_POLY1305_ENC_FINALIZE(&manager_, &context_, p.tag, crypto::kTagBytes);
    }

    bool open(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        if (packet.size() < header_bytes + crypto::kTagBytes) return false;
        const Parts p(packet, header_bytes);
        std::array<std::uint8_t, crypto::kTagBytes> tag{};
        IMB_CHACHA20_POLY1305_INIT(&manager_, key_.data(), &context_, WholeNonce(nonce).data(), p.header, header_bytes);
        IMB_CHACHA20_POLY1305_DEC_UPDATE(&manager_, key_.data(), &context_, p.payload, p.payload, p.payload_bytes);
        IMB_CHACHA20_POLY1305_DEC_FINALIZE(&manager_, &context_, tag.data(), tag.size());
        return CRYPTO_memcmp(tag.data(), p.tag, tag.size()) == 0;
    }

  private:
    const IMB_MGR& manager_;
    alignas(64) std::array<std::uint8_t, crypto::kKeyBytes> key_{};
    chacha20_poly1305_context_data context_{};
};

}  // namespace

std::unique_ptr<crypto::Aead> make_vector_aead(crypto::Cipher cipher, std::span<const std::byte> key) {
    assert(key.size() == crypto::kKeyBytes);
    if (cipher == crypto::Cipher::chacha20_poly1305) {
        const IMB_MGR* const manager = manager_with(IMB_FEATURE_AVX512_IFMA);
        return manager == nullptr ? nullptr : std::make_unique<VectorChaCha>(*manager, key);
    }
    const IMB_MGR* const manager = manager_with(IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ);
    if (manager == nullptr || !openssl_sees_aes()) return nullptr;
    return std::make_unique<VectorAesGcm>(*manager, key);
}

}  // namespace udtx::openssl
