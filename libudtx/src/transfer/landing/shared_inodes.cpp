#include "transfer/landing/shared_inodes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/target_tree.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Beyond these, a change is made at once and a link counts as the name of somebody else. That only costs a copy.
constexpr std::uint64_t kMaxWaitingBytes = 32U << 20U;
constexpr std::size_t kMaxLinked = 1U << 20U;
// Apart from the indices of entries, so that no two temporary files have one name.
constexpr std::uint64_t kFirstIndex = 1ULL << 48U;

}  // namespace

void SharedInodes::note_link(const std::string& path, const std::string& target) {
    if (!tree_.options.occupied || linked_.size() >= kMaxLinked || !check_path(split_path(target))) return;
    if (is_same_file(tree_.root, path, target)) ++linked_[path_key(join_path(split_path(target)))];
}

void SharedInodes::defer(const std::string& path, Change change) {
    std::uint64_t bytes = sizeof change + path.size();
    for (const message::Attribute& attribute : change.attributes) {
        bytes += sizeof attribute + attribute.name.size() + attribute.value.size();
    }
    if (bytes_ + bytes > kMaxWaitingBytes) {
        apply(path, change);
        return tree_.flush();
    }
    bytes_ += bytes;
    Change& all = waiting_[path];
    if (change.mode) all.mode = change.mode;
    if (change.mtime) all.mtime = change.mtime;
    if (change.owner) all.owner = change.owner;
    if (change.proven) all.proven = change.proven;
    if (change.all_attributes || !change.attributes.empty()) {
        all.attributes = std::move(change.attributes);
        all.all_attributes = change.all_attributes;
    }
}

bool SharedInodes::go_on() {
    const auto first = waiting_.begin();
    if (first == waiting_.end()) return false;
    const auto [path, change] = *first;
    waiting_.erase(first);
    apply(path, change);
    return true;
}

std::uint64_t SharedInodes::held() const noexcept { return bytes_ + linked_.size() * 40; }

void SharedInodes::apply(const std::string& path, const Change& change) {
    int error = 0;
    struct stat st = {};
    const UniqueFd fd = tree_.root.open_at(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error != 0) return tree_.fail(kNoEntry, path, io_error("cannot examine", path, error));
    if (change.proven && !same_content(*change.proven, st)) return tree_.fail(kNoEntry, path, changed_here(path));
    if (!differs(path, fd.get(), st, change)) return;
    const auto linked = linked_.find(path_key(path));
    const std::uint64_t own_names = 1 + (linked == linked_.end() ? 0 : linked->second);
    if (st.st_nlink <= own_names) return set(EntryType::file, path, fd.get(), st, change);
    if (const auto replaced = replace(path, change, fd.get(), st); !replaced) {
        tree_.fail(kNoEntry, path, replaced.error());
    }
}

bool SharedInodes::differs(const std::string& path, int fd, const struct stat& st, const Change& change) const {
    if (change.mode && (st.st_mode & mode_bits::kAll) != *change.mode) return true;
    if (change.owner && (st.st_uid != change.owner->user || st.st_gid != change.owner->group)) return true;
    struct stat named = {};
    const bool has_time =
        !change.mtime || (tree_.basis.look(path, named) && tree_.basis.has_time(named, *change.mtime));
    return !has_time || attributes_differ(fd, change.attributes, change.all_attributes);
}

void SharedInodes::set(EntryType type, const std::string& path, int fd, const struct stat& st,
                       const Change& change) const {
    const auto check = [&](Belonging what, int error) {
        if (error != 0) tree_.report.lacks(type, what, path, error);
        return error == 0;
    };
    std::uint32_t mode = st.st_mode & mode_bits::kAll;
    if (change.mode) mode = *change.mode;
    bool reset = change.mode.has_value();
    if (change.owner && (st.st_uid != change.owner->user || st.st_gid != change.owner->group)) {
        const bool owned = check(Belonging::owner, set_owner(fd, *change.owner));
        if (!owned) mode &= mode_bits::kPermissions;  // the wrong owner's rights
        // Changing the owner clears these bits.
        reset = reset || (owned && tree_.options.set_id && type == EntryType::file && (mode & mode_bits::kSetId) != 0);
    }
    int error = write_attributes(fd, change.attributes, change.all_attributes);
    // If the owner may not write the file, it gets that right for a moment.
    if (error == EACCES && st.st_uid == ::geteuid() && (st.st_mode & S_IWUSR) == 0 &&
        set_mode(fd, (st.st_mode & mode_bits::kAll) | S_IWUSR) == 0) {
        error = write_attributes(fd, change.attributes, change.all_attributes);
        reset = true;
    }
    check(Belonging::attributes, error);
    if (reset) check(Belonging::mode, set_mode(fd, mode));
    if (!change.mtime || !check(Belonging::time, set_file_time(fd, *change.mtime))) return;
    tree_.lost_times.look(fd, path, *change.mtime);
}

Result<void> SharedInodes::replace(const std::string& path, const Change& change, int fd, const struct stat& st) {
    FileAttributes attributes;
    const std::uint32_t bits = tree_.options.preserve ? bits_to_set(tree_.options) : mode_bits::kPermissions;
    attributes.mode = change.mode.value_or(mode_without_list(fd, st.st_mode & bits));
    attributes.exact_mode = attributes.set_mtime = true;
    attributes.mtime = change.mtime.value_or(mtime_of(st));
    if (::geteuid() == 0) attributes.owner = Owner{st.st_uid, st.st_gid};
    if (change.owner) attributes.owner = change.owner;
    const std::uint64_t unique = tree_.unique_of_file(kFirstIndex + replaced_++, path);
    auto copy = tree_.copy_standing(path, unique, fd, st, attributes, change.attributes, !change.all_attributes);
    if (!copy) return copy.error();
    struct stat now = {};
    if (copy->look(now) == 0 && change.mtime) tree_.lost_times.look(now, path, *change.mtime);
    CommitOrder commit = copy->into_commit(kNoEntry, static_cast<std::uint64_t>(st.st_size), true);
    commit.counted = true;
    commit.time = attributes.mtime;
    tree_.submit(std::move(commit));
    return {};
}

}  // namespace udtx::transfer
