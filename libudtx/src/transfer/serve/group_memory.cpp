#include "transfer/serve/group_memory.hpp"

#include <algorithm>
#include <fstream>

namespace udtx::transfer {
namespace {

/// The lowest limit from the group at `path` up to the root: each group limits those below it.
std::uint64_t least_of(const std::string& root, std::string path, const std::string& file) {
    std::uint64_t least = UINT64_MAX;
    for (;;) {
        std::string name = root;
        name.append(path).append(1, '/').append(file);
        std::uint64_t bytes = 0;
        if (std::ifstream(name) >> bytes) least = std::min(least, bytes);  // "max" is not a number
        if (path.empty()) return least;
        path.erase(std::min(path.rfind('/'), path.size()));
    }
}

}  // namespace

std::uint64_t memory_of_groups(const std::string& table, const std::string& root) {
    std::uint64_t least = UINT64_MAX;
    std::ifstream groups(table);
    // "0::/path" of version 2, "4:cpu,memory:/path" of version 1
    for (std::string line; std::getline(groups, line);) {
        const std::size_t name = line.find(':') + 1;
        const std::size_t path = line.find(':', name) + 1;
        if (name == 0 || path == 0) continue;
        const std::string controllers = ',' + line.substr(name, path - name - 1) + ',';
        const std::string at = line.substr(path);
        if (controllers == ",,") least = std::min(least, least_of(root, at, "memory.max"));
        if (controllers.find(",memory,") != std::string::npos) {
            least = std::min(least, least_of(root + "/memory", at, "memory.limit_in_bytes"));
        }
    }
    return least;
}

}  // namespace udtx::transfer
