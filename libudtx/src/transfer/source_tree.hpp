// The user's sources, as directories to walk from.
#pragma once

#include <string>
#include <vector>

#include "transfer/confined_dir.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// `leaf` below `directory` is sent under the name `leaf`; with an empty leaf the directory's contents are.
struct SourceRoot {
    ConfinedDir directory;
    std::string leaf;
};

/// Errors: nothing given, a source that is missing or whose directory cannot be opened, two that would arrive under
/// the same name.
[[nodiscard]] Result<std::vector<SourceRoot>> open_sources(const std::vector<std::string>& sources);

}  // namespace udtx::transfer
