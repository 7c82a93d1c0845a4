#include "soak/memory.hpp"

#include "test/resident.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace udtx::soak {

std::uint64_t heap_in_use() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

std::uint64_t resident() {
#if defined(__GLIBC__)
    ::malloc_trim(0);
#endif
    return test::resident_bytes();
}

}  // namespace udtx::soak
