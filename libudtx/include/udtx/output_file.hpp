// Files that a program writes where its user said. A privileged user may name a file in a directory of another user,
// who may have put a link there.
#pragma once

#include <string>

#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// The place of an output file. Links of this user, of root, and of the user who became root by sudo are followed;
/// links of others are not.
struct UDTX_EXPORT OutputPlace {
    UniqueFd directory;          ///< opened with O_PATH
    std::string name;            ///< the name in it; no link, unless `is_descriptor`
    std::string path;            ///< directory and name as one path without links
    bool exists = false;         ///< the directory has the name
    bool is_descriptor = false;  ///< the name leads to an open descriptor of this process, as /dev/stdout does

    /// Finds the place. file_io: the message is only the reason, as strerror() gives it.
    [[nodiscard]] static Result<OutputPlace> find(const std::string& path);
    /// Opens the file as openat() does. O_CLOEXEC and O_NOFOLLOW are added. A file that another user may have linked to
    /// this name is refused. Errors as in find().
    [[nodiscard]] Result<UniqueFd> open(int flags, unsigned mode = 0666) const;
};

/// Finds the place and opens it.
[[nodiscard]] UDTX_EXPORT Result<UniqueFd> open_output(const std::string& path, int flags, unsigned mode = 0666);

}  // namespace udtx
