#include "send/sources.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
namespace udtx::apps {
namespace {

/// The kind of an entry that is not a file, directory or link; null for those.
const char* special_kind(mode_t mode) noexcept {
    if (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)) return nullptr;
    if (S_ISFIFO(mode)) return "FIFO";
    if (S_ISSOCK(mode)) return "socket";
    return "device";
}

std::optional<std::string> problem_with(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return std::generic_category().message(errno);
    if (const char* kind = special_kind(info.st_mode); kind != nullptr) {
        return std::string("it is a ") + kind + "; to send its data, make it the standard input of udtx-send -";
    }
    // A link is sent as a link, so its target may be missing.
    if (S_ISLNK(info.st_mode)) return std::nullopt;
    const int wanted = S_ISDIR(info.st_mode) ? R_OK | X_OK : R_OK;
    if (::access(path.c_str(), wanted) != 0) return std::generic_category().message(errno);
    return std::nullopt;
}

}  // namespace

CheckedSources check_sources(const std::vector<std::string>& sources) {
    CheckedSources checked;
    for (const std::string& source : sources) {
        if (source == "-") {
            checked.usable.push_back(source);
        } else if (auto problem = problem_with(source)) {
            checked.failed.push_back({source, ErrorCode::file_io, std::move(*problem)});
        } else {
            checked.usable.push_back(source.ends_with('/') ? source + "." : source);
        }
    }
    return checked;
}

}  // namespace udtx::apps
