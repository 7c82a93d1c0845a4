// Checks the sources before this side connects.
#pragma once

#include <string>
#include <vector>
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

struct CheckedSources {
    std::vector<std::string> usable;  ///< "dir/" becomes "dir/.", which means its contents
    std::vector<transfer::FailedFile> failed;
};
[[nodiscard]] CheckedSources check_sources(const std::vector<std::string>& sources);

}  // namespace udtx::apps
