#include "transfer/serve/process_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "transfer/serve/group_memory.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

std::uint64_t memory_of_process() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    std::uint64_t bytes =
        pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
    bytes = std::min(bytes, memory_of_groups());
    for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit{};
        if (::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
        }
    }
    return bytes;
}

std::uint64_t default_window_memory() {
    static const std::uint64_t bytes = std::min(memory_of_process() / 4, kMaxWindowMemory);
    return bytes;
}

}  // namespace udtx::transfer
