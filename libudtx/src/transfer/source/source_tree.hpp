// The user's sources, as directories from which to walk.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

/// "FIFO", "socket" or "device"; nullptr for types that can be sent: files, directories and symbolic links.
[[nodiscard]] const char* special_kind(mode_t mode) noexcept;

/// The size is above what a message can carry.
[[nodiscard]] Error too_large(const std::string& path, std::uint64_t size);
/// Why an entry cannot be read that had the type of `found`. If it has the type of `now` meanwhile, that is why.
[[nodiscard]] Error unreadable(const std::string& path, mode_t found, mode_t now, int error_number);
/// The same, for the name in a directory as it is now.
[[nodiscard]] Error unreadable(int directory, const std::string& name, const std::string& path, mode_t found,
                               int error_number);

/// `leaf` below `directory` is sent under the name `leaf`; if it is empty, the directory's contents are sent.
struct SourceRoot {
    ConfinedDir directory;
    std::string leaf;
    std::string place{};  ///< of a source that a receiver requested: path of the directory, below its base
};

/// True if the only source is a stream.
[[nodiscard]] inline bool is_stream(const Selection& what) {
    return what.sources.size() == 1 && what.sources.front() == "-";
}

/// "dir/" means the contents of the directory; with `contents` the first source does so too. Errors: no source is
/// given; one is missing, or is not a file, directory or link; or its directory cannot be opened.
[[nodiscard]] Result<std::vector<SourceRoot>> open_sources(const std::vector<std::string>& sources,
                                                           bool contents = false);

/// The sources that a receiver requested, below a directory that confines their paths.
struct ConfinedSources {
    std::vector<SourceRoot> roots;
    std::vector<FailedFile> missing;  ///< while others exist
    SourceShape shape = SourceShape::several;
    UniqueFd stream;  ///< the only file, if it was requested as a stream
};
/// refused: a source leads out of `base`; file_io: none of them exists. Symbolic links are not followed; a link at the
/// end of a path is itself the source.
[[nodiscard]] Result<ConfinedSources> open_sources_below(const ConfinedDir& base,
                                                         const std::vector<std::string>& sources, bool stream);

}  // namespace udtx::transfer
