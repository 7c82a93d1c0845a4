// The user's sources, as directories to walk from.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "transfer/confined_dir.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// "FIFO", "socket", "device"; nullptr for what can be sent: files, directories and symbolic links.
[[nodiscard]] const char* special_kind(mode_t mode) noexcept;

/// `leaf` below `directory` is sent under the name `leaf`; with an empty leaf the directory's contents are.
struct SourceRoot {
    ConfinedDir directory;
    std::string leaf;
};

/// Errors: nothing given, a source that is missing or neither file, directory nor link, or whose directory
/// cannot be opened, two that would arrive under
/// the same name.
[[nodiscard]] Result<std::vector<SourceRoot>> open_sources(const std::vector<std::string>& sources);

}  // namespace udtx::transfer
