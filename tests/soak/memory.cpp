#include "soak/memory.hpp"

#include <unistd.h>

#include <cstdio>

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
    unsigned long size = 0;
    unsigned long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    const int got = std::fscanf(file, "%lu %lu", &size, &pages);
    std::fclose(file);
    return got == 2 ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace udtx::soak
