#include "page/report_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/descriptors.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::apps {
namespace {

Error file_error(const std::string& path, int error) {
    return {ErrorCode::file_io, "--report: cannot write " + path + ": " + std::generic_category().message(error)};
}

std::string directory_of(const std::string& path) {
    const auto directory = std::filesystem::path(path).parent_path();
    return directory.empty() ? "." : directory.string();
}

/// Resolves links, because the new file gets the name of a link's target.
std::string real_name(const std::string& path) {
    std::error_code unknown;
    const auto real = std::filesystem::weakly_canonical(path, unknown);
    return unknown || real.empty() ? path : real.string();
}

UniqueFd nameless_in([[maybe_unused]] const std::string& directory) {
#ifdef O_TMPFILE
    return UniqueFd(open_file(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
#else
    return {};
#endif
}

/// Gives the open file the name `path`. Returns 0 or an errno.
int give_name([[maybe_unused]] int fd, [[maybe_unused]] const std::string& path) {
#ifdef O_TMPFILE
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd);
    return ::linkat(AT_FDCWD, by_descriptor.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
#else
    return ENOTSUP;
#endif
}

}  // namespace

ReportFile::ReportFile(std::string path, UniqueFd spare) : path_(std::move(path)), spare_(std::move(spare)) {}

Result<ReportFile> ReportFile::open(const std::string& path) {
    const bool there = ::access(path.c_str(), F_OK) == 0;
    const int failed = there ? ::access(path.c_str(), W_OK) : ::access(directory_of(path).c_str(), W_OK | X_OK);
    if (failed != 0) return file_error(path, errno);
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) return file_error(path, EISDIR);
    std::string real = real_name(path);
    UniqueFd spare = nameless_in(directory_of(real));
    return ReportFile(std::move(real), std::move(spare));
}

Result<void> ReportFile::write(std::string_view text) const {
    const int making = spare_ ? 0 : O_CREAT;
    UniqueFd file(open_file(path_.c_str(), O_WRONLY | making | O_TRUNC | O_CLOEXEC, 0666));
    const bool removed = !file && spare_ && errno == ENOENT;
    if (!file && !removed) return file_error(path_, errno);
    if (const int failed = write_all(removed ? spare_.get() : file.get(), text); failed != 0) {
        return file_error(path_, failed);
    }
    const int failed = removed ? give_name(spare_.get(), path_) : file.close();
    return failed == 0 ? Result<void>() : file_error(path_, failed);
}

}  // namespace udtx::apps
