// --path: what was typed, and what it means on this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/interfaces.hpp"
#include "io/resolve.hpp"
#include "proto/path_context.hpp"
#include "udtx/address.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Most --path options.
inline constexpr std::size_t kMostPaths = 8;

/// "LOCAL[,REMOTE][,weight=N]"
struct PathText {
    std::string local;   ///< address or interface name
    std::string remote;  ///< address or name of the receiver on this path; empty: that of the URL
    double weight = 1.0;
};
[[nodiscard]] Result<PathText> parse_path(const std::string& text);

/// `remotes`: the addresses of the URL's host, in order of preference.
[[nodiscard]] Result<proto::PathAddresses> plan_path(const PathText& path, const std::vector<io::Interface>& interfaces,
                                                     const std::vector<Address>& remotes, io::AddressChoice choice);

}  // namespace udtx::apps
