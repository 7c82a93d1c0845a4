#include "transfer/source/source_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

const char* kind_of(mode_t mode) noexcept {
    if (S_ISREG(mode)) return "file";
    if (S_ISDIR(mode)) return "directory";
    return S_ISLNK(mode) ? "symbolic link" : special_kind(mode);
}

Result<SourceRoot> open_source(const std::string& given) {
    const std::string path = without_trailing_slashes(given);
    if (path.empty()) return Error{ErrorCode::invalid_argument, "empty source name"};
    const std::size_t slash = path.rfind('/');
    const std::string leaf = slash == std::string::npos ? path : path.substr(slash + 1);
    const bool contents_only = leaf.empty() || leaf == "." || leaf == "..";
    const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    auto directory = ConfinedDir::open(contents_only ? path : parent);
    if (!directory) return directory.error();
    SourceRoot root{std::move(directory).value(), contents_only ? std::string() : leaf};
    struct stat st = {};
    if (!contents_only && ::fstatat(root.directory.fd(), leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return io_error("cannot open source", given, errno);
    }
    if (const char* kind = contents_only ? nullptr : special_kind(st.st_mode); kind != nullptr) {
        return Error{ErrorCode::file_io, "cannot send '" + escape_name(given) + "': it is a " + kind +
                                             "; send its data from standard input instead ('-')"};
    }
    if (S_ISREG(st.st_mode)) {
        const int error = root.directory.open_at(leaf, O_RDONLY).error;
        if (error != 0) return io_error("cannot open source", given, error);
    }
    return root;
}

std::string reason_for(int error) {
    if (error == ELOOP || error == EXDEV) return "its path has a symbolic link, which is not followed";
    if (error == ENOTDIR) return "not a directory, or a symbolic link, which is not followed";
    return std::generic_category().message(error);
}

Error not_there(int error) { return {ErrorCode::file_io, reason_for(error), error}; }

/// 0: it can be read; else an errno.
int check_readable(const SourceRoot& root, const struct stat& st) {
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return 0;
    return root.directory.open_at(root.leaf, S_ISDIR(st.st_mode) ? O_RDONLY | O_DIRECTORY : O_RDONLY).error;
}

/// Sets `shape` to that of this source. file_io: why it does not exist, without its name.
Result<SourceRoot> open_below(const ConfinedDir& base, const std::string& given, SourceShape& shape) {
    std::vector<std::string> parts = split_path(given);
    std::erase(parts, ".");
    if (std::find(parts.begin(), parts.end(), "..") != parts.end()) {
        return Error{ErrorCode::refused, "'" + escape_name(given) + "' is outside of the directory of the server"};
    }
    // Files of an unfinished transfer are not sources.
    if (std::ranges::any_of(parts, is_transfer_file)) return not_there(ENOENT);
    const bool contents = parts.empty() || given.ends_with('/') || given.ends_with("/.");
    std::string leaf;
    if (!contents) {
        leaf = std::move(parts.back());
        parts.pop_back();
    }
    auto directory = base.subdirectory(join_path(parts));
    if (!directory) return not_there(directory.error().system_error);
    SourceRoot root{std::move(directory).value(), std::move(leaf), join_path(parts)};
    shape = SourceShape::contents;
    if (contents) return root;
    struct stat st = {};
    if (::fstatat(root.directory.fd(), root.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return not_there(errno);
    }
    if (const char* kind = special_kind(st.st_mode)) return Error{ErrorCode::file_io, std::string("it is a ") + kind};
    if (const int unreadable = check_readable(root, st); unreadable != 0) return not_there(unreadable);
    shape = S_ISDIR(st.st_mode) ? SourceShape::directory : SourceShape::file;
    return root;
}

Result<void> make_stream(ConfinedSources& found) {
    if (found.roots.size() == 1 && found.shape == SourceShape::file) {
        auto [fd, error] = found.roots.front().directory.open_at(found.roots.front().leaf, O_RDONLY);
        found.stream = std::move(fd);
        if (!found.stream) return Error{ErrorCode::file_io, found.roots.front().leaf + ": " + reason_for(error), error};
    }
    if (!found.stream) return Error{ErrorCode::file_io, "standard output takes one file"};
    found.shape = SourceShape::stream;
    return {};
}

}  // namespace

const char* special_kind(mode_t mode) noexcept {
    if (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)) return nullptr;
    if (S_ISFIFO(mode)) return "FIFO";
    if (S_ISSOCK(mode)) return "socket";
    return "device";
}

Error too_large(const std::string& path, std::uint64_t size) {
    return {ErrorCode::refused, "'" + escape_name(path) + "' has " + std::to_string(size) +
                                    " bytes; udtx sends files of at most " + std::to_string(kMaxNumber) + " bytes"};
}

Error unreadable(const std::string& path, mode_t found, mode_t now, int error_number) {
    if ((found & S_IFMT) == (now & S_IFMT)) return io_error("cannot read", path, error_number);
    return {ErrorCode::changed, "'" + escape_name(path) + "' was a " + kind_of(found) +
                                    " when it was found, and is a " + kind_of(now) + " now: send it again"};
}

Error unreadable(int directory, const std::string& name, const std::string& path, mode_t found, int error_number) {
    struct stat now = {};
    const bool there = ::fstatat(directory, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0;
    return unreadable(path, found, there ? now.st_mode : found, error_number);
}

Result<std::vector<SourceRoot>> open_sources(const std::vector<std::string>& sources, bool contents) {
    if (sources.empty()) return Error{ErrorCode::invalid_argument, "nothing to send"};
    std::vector<SourceRoot> roots;
    for (std::string source : sources) {
        if (source.ends_with('/')) source += '.';
        if (std::exchange(contents, false) && !source.ends_with("/.")) source += "/.";
        auto root = open_source(source);
        if (!root) return root.error();
        roots.push_back(std::move(root).value());
    }
    return roots;
}

Result<ConfinedSources> open_sources_below(const ConfinedDir& base, const std::vector<std::string>& sources,
                                           bool stream) {
    ConfinedSources found;
    SourceShape shape = SourceShape::several;
    for (const std::string& source : sources) {
        auto root = open_below(base, source, shape);
        if (!root && root.error().code == ErrorCode::refused) return root.error();
        if (!root) {
            found.missing.push_back({source, root.error().code, root.error().message, root.error().system_error});
            continue;
        }
        found.roots.push_back(std::move(root).value());
    }
    if (found.roots.empty()) {
        if (found.missing.empty()) return Error{ErrorCode::refused, "the request names no source"};
        const FailedFile& first = found.missing.front();
        return Error{first.code, escape_name(first.path) + ": " + first.reason, first.system_error};
    }
    if (sources.size() == 1) found.shape = shape;
    if (!stream) return found;
    if (const auto made = make_stream(found); !made) return made.error();
    return found;
}

}  // namespace udtx::transfer
