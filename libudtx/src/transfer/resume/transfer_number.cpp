#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "transfer/names.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::transfer {

std::uint64_t transfer_number(const std::string& host, const std::string& working_directory,
                              const std::vector<std::string>& sources, const std::string& destination) {
    // No name contains NUL, so names that it joins stay distinct.
    std::string all = host + '\0' + join_path(split_path(destination));
    for (const std::string& source : sources) {
        all += '\0';
        all += (std::filesystem::path(working_directory) / source).lexically_normal().string();
    }
    return std::max<std::uint64_t>(path_key(all), 1);
}

std::uint64_t transfer_number(const std::vector<std::string>& sources, const std::string& destination) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::error_code ignored;
    return transfer_number(host.data(), std::filesystem::current_path(ignored).string(), sources, destination);
}

}  // namespace udtx::transfer
