#include "transfer/source_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>

#include "transfer/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

}  // namespace

const char* special_kind(mode_t mode) noexcept {
    if (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)) return nullptr;
    if (S_ISFIFO(mode)) return "FIFO";
    if (S_ISSOCK(mode)) return "socket";
    return "device";
}

namespace {

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
        int error = 0;
        if (!root.directory.open_at(leaf, O_RDONLY, 0, error)) return io_error("cannot open source", given, error);
    }
    return root;
}

}  // namespace

Result<std::vector<SourceRoot>> open_sources(const std::vector<std::string>& sources) {
    if (sources.empty()) return Error{ErrorCode::invalid_argument, "nothing to send"};
    std::vector<SourceRoot> roots;
    std::set<std::string> leaves;
    for (const std::string& source : sources) {
        auto root = open_source(source);
        if (!root) return root.error();
        if (!root->leaf.empty() && !leaves.insert(root->leaf).second) {
            return Error{ErrorCode::invalid_argument,
                         "two sources would both arrive as '" + escape_name(root->leaf) + "': send them one by one"};
        }
        roots.push_back(std::move(root).value());
    }
    return roots;
}

}  // namespace udtx::transfer
