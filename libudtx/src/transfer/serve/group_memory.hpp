// The memory limit of a container or a service.
#pragma once

#include <cstdint>
#include <string>

namespace udtx::transfer {

/// The lowest memory limit of this process's control group (cgroup, version 1 or 2) and the groups above it;
/// UINT64_MAX: no limit. `table`: the groups of a process; `root`: the directory of their limits.
[[nodiscard]] std::uint64_t memory_of_groups(const std::string& table = "/proc/self/cgroup",
                                             const std::string& root = "/sys/fs/cgroup");

}  // namespace udtx::transfer
