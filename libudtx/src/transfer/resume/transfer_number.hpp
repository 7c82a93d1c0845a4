// Which runs are runs of one and the same command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace udtx::transfer {

/// From the host, the sources (a relative one counts from `working_directory`) and the destination; never 0.
[[nodiscard]] std::uint64_t transfer_number(const std::string& host, const std::string& working_directory,
                                            const std::vector<std::string>& sources, const std::string& destination);
/// On this host, in this process's directory.
[[nodiscard]] std::uint64_t transfer_number(const std::vector<std::string>& sources, const std::string& destination);

}  // namespace udtx::transfer
