#include "openssl/vector_aead.hpp"

#define NO_COMPAT_IMB_API_053  // its former names are those of OpenSSL's functions
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

/// Bit 57 of what OpenSSL takes the processor for, "OPENSSL_ia32cap=0x...:0x...", is AES.
bool openssl_sees_aes() {
    constexpr unsigned kAesBit = 57;
    const char* const settings = OPENSSL_info(OPENSSL_INFO_CPU_SETTINGS);
    const std::string_view text = settings == nullptr ? "" : settings;
    const auto value = text.find('=');
    if (value == std::string_view::npos) return false;
    return ((std::strtoull(text.data() + value + 1, nullptr, 16) >> kAesBit) & 1U) != 0;
}

/// The library's table of functions for this processor; null where there is nothing to gain from it.
ManagerPtr make_manager() {
    if (!openssl_sees_aes()) return nullptr;
    ManagerPtr manager(alloc_mb_mgr(0));
    if (!manager) return nullptr;
    IMB_ARCH arch = IMB_ARCH_NONE;
    init_mb_mgr_auto(manager.get(), &arch);
    constexpr std::uint64_t kVector = IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
    const bool faster = arch == IMB_ARCH_AVX512 && (manager->features & kVector) == kVector;
    return faster ? std::move(manager) : nullptr;
}

const IMB_MGR* manager() {
    static const ManagerPtr once = make_manager();
    return once.get();
}

/// The nonce by one store: the library loads it at once, and what was stored in parts would have to reach the cache
/// first, with all the stores before it.
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

class VectorAead final : public crypto::Aead {
  public:
    VectorAead(const IMB_MGR& manager, std::span<const std::byte> key) : manager_(manager) {
        IMB_AES256_GCM_PRE(&manager_, key.data(), &key_);
    }
    ~VectorAead() override { OPENSSL_cleanse(&key_, sizeof key_); }
    VectorAead(const VectorAead&) = delete;
    VectorAead& operator=(const VectorAead&) = delete;

    void seal(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        assert(packet.size() >= header_bytes + crypto::kTagBytes);
        std::uint8_t* const data = as_uchar(packet.data());
        std::uint8_t* const payload = data + header_bytes;
        const std::size_t payload_bytes = packet.size() - header_bytes - crypto::kTagBytes;
        IMB_AES256_GCM_ENC(&manager_, &key_, &context_, payload, payload, payload_bytes, WholeNonce(nonce).data(), data,
                           header_bytes, payload + payload_bytes, crypto::kTagBytes);
    }

    bool open(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        if (packet.size() < header_bytes + crypto::kTagBytes) return false;
        std::uint8_t* const data = as_uchar(packet.data());
        std::uint8_t* const payload = data + header_bytes;
        const std::size_t payload_bytes = packet.size() - header_bytes - crypto::kTagBytes;
        std::array<std::uint8_t, crypto::kTagBytes> tag{};
        IMB_AES256_GCM_DEC(&manager_, &key_, &context_, payload, payload, payload_bytes, WholeNonce(nonce).data(), data,
                           header_bytes, tag.data(), tag.size());
        return CRYPTO_memcmp(tag.data(), payload + payload_bytes, tag.size()) == 0;
    }

  private:
    const IMB_MGR& manager_;
    alignas(64) gcm_key_data key_{};
    gcm_context_data context_{};
};

}  // namespace

std::unique_ptr<crypto::Aead> make_vector_aead(std::span<const std::byte> key) {
    assert(key.size() == crypto::kKeyBytes);
    if (manager() == nullptr) return nullptr;
    return std::make_unique<VectorAead>(*manager(), key);
}

}  // namespace udtx::openssl
