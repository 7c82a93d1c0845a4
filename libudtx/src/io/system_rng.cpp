#include "udtx/system_rng.hpp"

#include <openssl/rand.h>

#include <limits>
#include <new>

namespace udtx {

void SystemRng::fill(std::span<std::byte> out) {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    while (!out.empty()) {
        const std::size_t part = out.size() < kMost ? out.size() : kMost;
        if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(part)) != 1) {
            throw std::bad_alloc();  // OpenSSL lacks memory for its generator
        }
        out = out.subspan(part);
    }
}

}  // namespace udtx
