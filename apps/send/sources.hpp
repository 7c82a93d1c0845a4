// A first look at what is to be sent, before anything is dialled.
#pragma once

#include <string>
#include <vector>
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

struct CheckedSources {
    std::vector<std::string> usable;  ///< "dir/" became "dir/.": its contents
    std::vector<transfer::FailedFile> failed;
};
[[nodiscard]] CheckedSources check_sources(const std::vector<std::string>& sources);

}  // namespace udtx::apps
