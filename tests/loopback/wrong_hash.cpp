// A computer that errs: preloaded into one end of a transfer, every XXH3 hash that it makes is wrong.
#include <dlfcn.h>

#include <cstdint>

extern "C" {

// XXH128_hash_t; the library's own header may define the function as inline.
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
