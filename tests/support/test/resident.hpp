#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace udtx::test {

/// Resident memory of this process, in bytes; 0 if /proc does not report it.
inline std::uint64_t resident_bytes() {
    unsigned long size = 0;
    unsigned long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    const int got = std::fscanf(file, "%lu %lu", &size, &pages);
    std::fclose(file);
    return got == 2 ? std::uint64_t{pages} * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace udtx::test
