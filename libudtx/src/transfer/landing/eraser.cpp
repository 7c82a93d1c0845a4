#include "transfer/landing/eraser.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// A descriptor for each level.
constexpr std::size_t kMaxEraseDepth = kMaxDepth;
constexpr std::size_t kMaxTops = 65536;

std::string child(const std::string& path, const std::string& name) { return path.empty() ? name : path + '/' + name; }

}  // namespace

Eraser::Eraser(const ConfinedDir& root, bool dry_run, EraseCallbacks callbacks)
    : root_(root), dry_run_(dry_run), callbacks_(std::move(callbacks)) {}

void Eraser::keep(const std::string& path, bool directory) {
    names_.add(path);
    if (directory) directories_.add(path);
    const bool top = path.find('/') == std::string::npos;
    if (directory && top && tops_.size() < kMaxTops) tops_.push_back(path);
    nothing_sent_ = nothing_sent_ && directory && top;
}

Result<void> Eraser::add(const message::Rules& rules) {
    contents_ = contents_ || rules.contents;
    for (const FilterRule& rule : rules.rules) {
        if (auto added = rules_.add(rule); !added) return Error{ErrorCode::protocol, added.error().message};
    }
    return {};
}

Result<void> Eraser::run() {
    if (nothing_sent_ && (!contents_ || tops_.empty())) {
        return Error{ErrorCode::refused, "--delete: nothing is deleted, since the sources are empty"};
    }
    if (names_.full() || directories_.full() || tops_.size() == kMaxTops) {
        return Error{ErrorCode::refused, "--delete: nothing is deleted, since there are too many names to compare"};
    }
    if (contents_) {
        waiting_.emplace_back();
    } else {
        waiting_ = tops_;
    }
    while (!waiting_.empty() && callbacks_.go_on()) {
        const std::string next = std::move(waiting_.back());
        waiting_.pop_back();
        look_through(next);
    }
    return {};
}

bool Eraser::clear(const std::string& path) {
    const SplitName split = split_leaf(path);
    int error = 0;
    const UniqueFd parent = root_.open_directory(split.directory, error);
    return parent && remove_content(parent.get(), split.leaf, path, 0);
}

bool Eraser::is_protected(const std::string& name, const std::string& path, const struct stat& st) const {
    return is_transfer_file(name) || rules_.excludes(path, S_ISDIR(st.st_mode));
}

void Eraser::look_through(const std::string& directory) {
    int error = 0;
    const UniqueFd fd = root_.open_directory(directory, error);
    // A dry run makes no directories.
    if (!fd && dry_run_) return;
    const std::vector<std::string> names = fd ? names_in(fd.get(), error) : std::vector<std::string>();
    if (error != 0) return callbacks_.failed(directory, io_error("cannot look into", directory, error));
    for (const std::string& name : names) {
        const std::string path = child(directory, name);
        struct stat st = {};
        if (::fstatat(fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (names_.has(path)) {
            const bool both = S_ISDIR(st.st_mode) && directories_.has(path);
            if (both && !rules_.excludes(path, true)) waiting_.push_back(path);
            continue;
        }
        if (!is_protected(name, path, st)) static_cast<void>(remove(fd.get(), name, path, 0));
        if (!callbacks_.go_on()) return;
    }
}

bool Eraser::remove(int parent, const std::string& name, const std::string& path, std::size_t depth) {
    struct stat st = {};
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return true;
    const bool directory = S_ISDIR(st.st_mode);
    if (directory && !remove_content(parent, name, path, depth)) return false;
    const auto take_away = [&] {
        return dry_run_ || ::unlinkat(parent, name.c_str(), directory ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
    };
    int error = take_away();
    if (error == EACCES && callbacks_.lend(split_leaf(path).directory)) error = take_away();
    if (error != 0) {
        callbacks_.failed(path, io_error("cannot delete", path, error));
        return false;
    }
    callbacks_.erased(path);
    return true;
}

bool Eraser::remove_content(int parent, const std::string& name, const std::string& path, std::size_t depth) {
    int error = depth < kMaxEraseDepth ? 0 : ELOOP;
    constexpr int kOpen = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(error == 0 ? ::openat(parent, name.c_str(), kOpen) : -1);
    if (error == 0 && !fd && errno == EACCES && callbacks_.lend(path)) {
        fd.reset(::openat(parent, name.c_str(), kOpen));
    }
    if (error == 0 && !fd) error = errno;
    const std::vector<std::string> names = fd ? names_in(fd.get(), error) : std::vector<std::string>();
    if (error != 0) {
        callbacks_.failed(path, io_error("cannot delete", path, error));
        return false;
    }
    bool empty = true;
    for (const std::string& inside : names) {
        if (!callbacks_.go_on()) return false;
        const std::string below = child(path, inside);
        struct stat st = {};
        if (::fstatat(fd.get(), inside.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const bool gone = !is_protected(inside, below, st) && remove(fd.get(), inside, below, depth + 1);
        empty = empty && gone;
    }
    return empty;
}

}  // namespace udtx::transfer
