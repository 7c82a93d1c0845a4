// The user's sources, as directories to walk from.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

/// "FIFO", "socket", "device"; nullptr for what can be sent: files, directories and symbolic links.
[[nodiscard]] const char* special_kind(mode_t mode) noexcept;

/// `leaf` below `directory` is sent under the name `leaf`; with an empty leaf the directory's contents are.
struct SourceRoot {
    ConfinedDir directory;
    std::string leaf;
};

/// Errors: nothing given, a source that is missing or neither file, directory nor link, or whose directory
/// cannot be opened.
[[nodiscard]] Result<std::vector<SourceRoot>> open_sources(const std::vector<std::string>& sources);

/// What a receiver asked for, below a directory from which no path leads out.
struct ConfinedSources {
    std::vector<SourceRoot> roots;
    std::vector<FailedFile> missing;  ///< others are there
    SourceShape shape = SourceShape::several;
    UniqueFd stream;  ///< the one file, if it was asked for as a stream
};
/// refused: a source leads out of `base`; file_io: there is none of them.
/// Symbolic links are not followed; one at the end of a path is itself the source.
[[nodiscard]] Result<ConfinedSources> open_sources_below(const ConfinedDir& base,
                                                         const std::vector<std::string>& sources, bool stream);

}  // namespace udtx::transfer
