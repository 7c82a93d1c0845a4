#include "transfer/checksum.hpp"

#include <openssl/evp.h>
#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <new>

// Provides the same functions and selects the instructions that the processor supports at run time.
#ifdef UDTX_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

namespace udtx::transfer {
namespace {

// A hash fails only if memory runs out. Its result is then invalid and must not be used.
void require(bool good) {
    if (!good) throw std::bad_alloc();
}

}  // namespace

std::size_t digest_bytes(HashAlgorithm algorithm) noexcept { return algorithm == HashAlgorithm::sha256 ? 32 : 16; }

std::string_view to_string(HashAlgorithm algorithm) noexcept {
    return algorithm == HashAlgorithm::sha256 ? "sha256" : "xxh3-128";
}

std::optional<HashAlgorithm> hash_algorithm_from(std::uint64_t number) noexcept {
    for (const HashAlgorithm known : {HashAlgorithm::xxh3_128, HashAlgorithm::sha256}) {
        if (number == static_cast<std::uint64_t>(known)) return known;
    }
    return std::nullopt;
}

std::uint64_t short_hash(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
    // The canonical form starts with the high half, most significant byte first.
    return XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed).high64;
}

Digest::Digest(std::span<const std::byte> bytes) noexcept : size_(static_cast<std::uint8_t>(bytes.size())) {
    assert(bytes.size() <= kMaxBytes);
    std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

std::string Digest::hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const std::byte b : bytes()) {
        out += kDigits[std::to_integer<unsigned>(b) >> 4U];
        out += kDigits[std::to_integer<unsigned>(b) & 15U];
    }
    return out;
}

struct Hasher::State {
    struct Free {
        void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
        void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
    };
    explicit State(HashAlgorithm a) : algorithm(a) {
        if (a == HashAlgorithm::sha256) {
            sha.reset(EVP_MD_CTX_new());
            require(sha != nullptr);
        } else {
            xxh.reset(XXH3_createState());
            require(xxh != nullptr);
        }
    }
    HashAlgorithm algorithm;
    std::unique_ptr<XXH3_state_t, Free> xxh;
    std::unique_ptr<EVP_MD_CTX, Free> sha;
};

Hasher::Hasher(HashAlgorithm algorithm) : state_(std::make_unique<State>(algorithm)) { reset(); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::reset() {
    if (state_->sha) {
        require(EVP_DigestInit_ex(state_->sha.get(), EVP_sha256(), nullptr) == 1);
    } else {
        XXH3_128bits_reset(state_->xxh.get());
    }
}

void Hasher::update(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    if (state_->sha) {
        require(EVP_DigestUpdate(state_->sha.get(), bytes.data(), bytes.size()) == 1);
    } else {
        XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
    }
}

void Hasher::update_u64(std::uint64_t value) {
    std::array<std::byte, 8> be{};
    for (std::size_t i = 0; i < be.size(); ++i) be[i] = static_cast<std::byte>(value >> (56U - 8U * i));
    update(be);
}

Digest Hasher::finish() {
    std::array<std::byte, Digest::kMaxBytes> out{};
    if (state_->sha) {
        unsigned size = 0;
        require(EVP_DigestFinal_ex(state_->sha.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1);
        return Digest(std::span(out).first(size));
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->xxh.get()));
    return Digest(std::as_bytes(std::span(canonical.digest)));
}

}  // namespace udtx::transfer
