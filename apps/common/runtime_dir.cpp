#include "common/runtime_dir.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace udtx::apps {

Result<std::string> runtime_directory() {
    const char* base = std::getenv("XDG_RUNTIME_DIR");
    const std::string path =
        base != nullptr && *base == '/' ? std::string(base) + "/udtx" : "/tmp/udtx-" + std::to_string(::geteuid());
    const int made = ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
    struct stat info {};
    const int looked = ::lstat(path.c_str(), &info) == 0 ? 0 : errno;
    if (looked != 0) {
        return Error{ErrorCode::file_io,
                     "cannot make " + path + ": " + std::generic_category().message(made != 0 ? made : looked)};
    }
    // Any user can create this name below /tmp first.
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0077U) != 0) {
        return Error{ErrorCode::file_io, path + " must be a directory of this user with mode 0700"};
    }
    return path;
}

}  // namespace udtx::apps
