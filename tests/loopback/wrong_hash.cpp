// A faulty computer: a preloaded library that makes every XXH3 hash of one end of a transfer wrong.
#include <dlfcn.h>

#include <cstdint>

extern "C" {

// Same layout as XXH128_hash_t. The library's own header may define the function as inline.
struct Hash128 {
    std::uint64_t low;
    std::uint64_t high;
};

Hash128 XXH3_128bits_digest(const void* state) {
    using Digest = Hash128 (*)(const void*);
    static const auto real = reinterpret_cast<Digest>(::dlsym(RTLD_NEXT, "XXH3_128bits_digest"));
    Hash128 hash = real(state);
    hash.low ^= 1U;
    return hash;
}

}  // extern "C"
