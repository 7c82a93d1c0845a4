// What a container or a service may have of the machine's memory.
#pragma once

#include <cstdint>
#include <string>

namespace udtx::transfer {

/// The least that this process's control group (cgroup, version 1 or 2) and those above it may have; UINT64_MAX: as
/// much as there is. `table`: the groups of a process; `root`: where their limits are.
[[nodiscard]] std::uint64_t memory_of_groups(const std::string& table = "/proc/self/cgroup",
                                             const std::string& root = "/sys/fs/cgroup");

}  // namespace udtx::transfer
