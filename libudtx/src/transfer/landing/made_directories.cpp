#include "transfer/landing/made_directories.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

// The memory that a sender may use for directories that are not finished.
constexpr std::uint64_t kMaxDirectoryBytes = 128U << 20U;

}  // namespace

std::uint32_t MadeDirectories::mode_of(const message::Entry& entry) const noexcept {
    return mode_bits::of_directory(entry.mode, tree_.options.set_id, tree_.options.owner);
}

bool MadeDirectories::take_top(const message::Entry& entry) {
    if (!tree_.options.preserve || !tree_.options.own_top) return false;
    top_ = Made{{}, mode_of(entry), entry.mtime};
    return true;
}

MadeDirectories::Stands MadeDirectories::make(const message::Entry& entry, const std::string& path) {
    SplitName split = split_leaf(path);
    std::uint32_t final_mode = mode_of(entry);
    Found found{final_mode};
    const auto made = tree_.lent.with(split.directory, [&]() -> Result<void> {
        int error = 0;
        const UniqueFd parent = tree_.root.open_directory(split.directory, error);
        if (parent) error = make_or_open(parent.get(), split, entry, found);
        return error == 0 ? Result<void>() : io_error("cannot make directory", path, error);
    });
    if (!made) {
        if (made.error().system_error == EEXIST) {
            tree_.fail(entry.index, path, falls_together(path));
        } else if (tree_.stays(made.error().system_error)) {
            tree_.report.ended(Ended::skipped, entry.type, path, 0);
        } else {
            tree_.fail(entry.index, path, made.error());
        }
        return Stands::no;
    }
    // A directory that was opened up, perhaps by an earlier run, has the mode that it is to get back.
    const std::uint32_t before = tree_.lent.owed(path).value_or(found.mode);
    if (!tree_.options.preserve) final_mode = before;
    const bool barred = (final_mode & mode_bits::kOwner) != mode_bits::kOwner;
    if (tree_.options.preserve || barred) remember({path, final_mode, entry.mtime});
    if (found.existed && before == final_mode && (found.has_time || !tree_.options.preserve)) {
        tree_.note_unchanged(EntryType::directory, path);
        return Stands::unchanged;
    }
    CommitOrder commit;
    commit.index = entry.index;
    commit.type = EntryType::directory;
    commit.directory = std::move(split.directory);
    commit.name = std::move(split.leaf);
    tree_.submit(std::move(commit));
    return Stands::made;
}

int MadeDirectories::make_or_open(int parent, const SplitName& split, const message::Entry& entry, Found& found) {
    // The owner needs all rights until the tree below is written. finish_all() takes the extra rights away.
    const std::uint32_t wanted = entry.mode & mode_bits::kPermissions;
    const std::string path = join_path(entry.path);
    const auto make = [&] {
        if (::mkdirat(parent, split.leaf.c_str(), static_cast<mode_t>(wanted | mode_bits::kOwner)) != 0) return errno;
        if ((wanted & mode_bits::kOwner) != mode_bits::kOwner) tree_.lent.owe(path, wanted);
        std::uint32_t masked = 0;
        const auto lend = [&](std::uint32_t mode) { tree_.lent.owe(path, mode); };
        if (umask_bars_owner_) static_cast<void>(open_up_directory(parent, split.leaf, masked, lend));
        tree_.claims.note_made_directory(parent, split.directory, split.leaf);
        return 0;
    };
    int error = make();
    if (error != EEXIST) return error;
    error = open_up_directory(parent, split.leaf, found.mode, [&](std::uint32_t mode) { tree_.lent.owe(path, mode); });
    if (error == 0) {
        struct stat st = {};
        found.existed = true;
        found.has_time = tree_.basis.look(path, st) && tree_.basis.has_time(st, entry.mtime);
        tree_.claims.take_directory(parent, split.directory, split.leaf);
    }
    if (!is_barrier(error)) return error;
    if (!tree_.claims.take(parent, split.directory, split.leaf)) return EEXIST;
    if (tree_.stays(error)) return error;
    // The old entry gets another name until the directory exists.
    const std::string aside = temp_name(tree_.unique_of_link(entry.index, path));
    const auto rename = [&](const std::string& from, const std::string& to) {
        return again([&] { return ::renameat(parent, from.c_str(), parent, to.c_str()); }) == 0 ? 0 : errno;
    };
    if (error = vacate(parent, aside); error != 0) return error;
    error = rename(split.leaf, aside);
    // A sandbox gives no new names to special files. They hold no data.
    struct stat st = {};
    const bool special = error == EACCES && ::fstatat(parent, split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                         !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode);
    if (special) error = ::unlinkat(parent, split.leaf.c_str(), 0) == 0 ? 0 : errno;
    if (error != 0) return error;
    found.mode = entry.mode;
    error = make();
    if (error != 0) {
        static_cast<void>(rename(aside, split.leaf));
    } else {
        ::unlinkat(parent, aside.c_str(), 0);
    }
    return error;
}

void MadeDirectories::remember(Made directory) {
    bytes_ += sizeof directory + directory.path.size();
    if (bytes_ <= kMaxDirectoryBytes) return made_.push_back(std::move(directory));
    bytes_ -= sizeof directory + directory.path.size();
    if (!tree_.options.preserve) return;
    tree_.report.lacks(EntryType::directory, Belonging::mode, directory.path, ENOMEM);
    tree_.report.lacks(EntryType::directory, Belonging::time, directory.path, ENOMEM);
}

bool MadeDirectories::finish_next() {
    if (made_.empty()) return false;
    const Made directory = std::move(made_.back());
    made_.pop_back();
    finish(directory);
    tree_.lent.settled(directory.path);
    return true;
}

void MadeDirectories::finish_all() {
    tree_.basis.close();
    // The directory that was made last is finished first. Setting a child's mode does not change its parent's time, but
    // a closed parent would block access to the child.
    while (finish_next()) {
    }
    // These were not sent, or an earlier run opened them up.
    tree_.lent.give_back([this](const std::string& path, int error_number) {
        tree_.report.lacks(EntryType::directory, Belonging::mode, path, error_number);
    });
}

void MadeDirectories::finish_top() {
    if (top_) finish(*top_);
}

void MadeDirectories::finish(const Made& directory) {
    const auto unset = [&](Belonging what, int error_number) {
        tree_.report.lacks(EntryType::directory, what, directory.path, error_number);
    };
    int error = 0;
    struct stat st = {};
    const UniqueFd fd = tree_.root.open_directory(directory.path, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error != 0) return unset(Belonging::mode, error);
    // Without preserve, the umask has been applied already: only the owner's extra rights must go.
    const std::uint32_t wanted =
        tree_.options.preserve ? directory.mode : st.st_mode & (directory.mode | ~mode_bits::kOwner) & mode_bits::kAll;
    if (error = set_mode(fd.get(), wanted); error != 0) unset(Belonging::mode, error);
    if (!tree_.options.preserve || mtime_of(st) == directory.mtime) return;
    if (error = set_file_time(fd.get(), directory.mtime); error != 0) return unset(Belonging::time, error);
    // If the directory already had what the disk makes of its time, nothing was lost now.
    struct stat after = {};
    const bool changed = ::fstat(fd.get(), &after) == 0 && mtime_of(st) != mtime_of(after);
    if (changed) tree_.lost_times.look(after, directory.path, directory.mtime);
}

}  // namespace udtx::transfer
