#include "transfer/file/occupant.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

/// A name, split into its directory and its leaf.
struct Place {
    Place(const ConfinedDir& root, const std::string& path) : split(split_leaf(path)) {
        parent = root.open_directory(split.directory, error);
        found = parent && ::fstatat(parent.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    }
    SplitName split;
    int error = 0;
    UniqueFd parent;
    struct stat st = {};
    bool found = false;
};

}  // namespace

bool is_barrier(int error_number) noexcept { return error_number == ENOTDIR || error_number == ELOOP; }

Occupant occupant_of(const ConfinedDir& root, const std::string& path) {
    const Place place(root, path);
    if (place.found) return S_ISDIR(place.st.st_mode) ? Occupant::directory : Occupant::other;
    return is_barrier(place.error) ? Occupant::barrier : Occupant::nothing;
}

bool is_link_to(const ConfinedDir& root, const std::string& path, const std::string& target) {
    const Place place(root, path);
    std::array<char, kMaxPathBytes + 1> now{};
    if (!place.found || !S_ISLNK(place.st.st_mode)) return false;
    const ssize_t n = ::readlinkat(place.parent.get(), place.split.leaf.c_str(), now.data(), now.size());
    return n >= 0 && std::string_view(now.data(), static_cast<std::size_t>(n)) == target;
}

bool same_state(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && mtime_of(a) == mtime_of(b) &&
           a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

bool is_same_file(const ConfinedDir& root, const std::string& path, const std::string& other) {
    const Place one(root, path);
    const Place two(root, other);
    return one.found && two.found && S_ISREG(one.st.st_mode) && same_state(one.st, two.st);
}

}  // namespace udtx::transfer
