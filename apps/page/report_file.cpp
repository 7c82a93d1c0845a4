#include "page/report_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/descriptors.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/output_file.hpp"

namespace udtx::apps {
namespace {

Error file_error(const std::string& path, const std::string& why) {
    return {ErrorCode::file_io, "--report: cannot write " + path + ": " + why};
}
Error file_error(const std::string& path, int error) {
    return file_error(path, std::generic_category().message(error));
}

std::string directory_of(const std::string& path) {
    const auto directory = std::filesystem::path(path).parent_path();
    return directory.empty() ? "." : directory.string();
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
    auto place = OutputPlace::find(path);
    if (!place) return file_error(path, place.error().message);
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) return file_error(path, EISDIR);
    UniqueFd spare = nameless_in(directory_of(place->path));
    return ReportFile(std::move(place->path), std::move(spare));
}

Result<void> ReportFile::write(std::string_view text) const {
    const int making = spare_ ? 0 : O_CREAT;
    auto file = open_output(path_, O_WRONLY | making | O_TRUNC);
    const bool removed = !file && spare_ && file.error().system_error == ENOENT;
    if (!file && !removed) return file_error(path_, file.error().message);
    if (const int failed = write_all(removed ? spare_.get() : file->get(), text); failed != 0) {
        return file_error(path_, failed);
    }
    const int failed = removed ? give_name(spare_.get(), path_) : file->close();
    return failed == 0 ? Result<void>() : file_error(path_, failed);
}

}  // namespace udtx::apps
