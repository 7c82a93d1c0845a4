#include "transfer/landing/target_tree.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

// Beyond these, a change is made at once and a link counts as the name of somebody else. That only costs a copy.
constexpr std::uint64_t kMaxWaitingBytes = 32U << 20U;
constexpr std::size_t kMaxLinked = 1U << 20U;
// Apart from the indices of entries, so that no two temporary files have one name.
constexpr std::uint64_t kFirstIndex = 1ULL << 48U;

constexpr int kMaxFailuresInARow = 32;
// One file that does not fit says nothing about smaller ones. After several such files, sending more is useless.
constexpr int kMaxFullInARow = 4;

}  // namespace

bool is_full_disk(const Error& error) noexcept {
    return error.code == ErrorCode::file_io && (error.system_error == ENOSPC || error.system_error == EDQUOT);
}

bool is_of_disk(const Error& error) noexcept {
    if (error.code != ErrorCode::file_io) return false;
    switch (error.system_error) {
        case EIO:
        case EROFS:
        case ENOSPC:
        case EDQUOT:
        case ENODEV:    // removed
        case ENXIO:     // removed
        case ENOTCONN:  // the process behind a FUSE file system has ended
            return true;
        default:
            return false;
    }
}

std::optional<Error> DiskWatch::failed(const Error& error) {
    if (!is_of_disk(error)) return std::nullopt;
    ++failed_;
    full_ = is_full_disk(error) ? full_ + 1 : 0;
    if (failed_ < kMaxFailuresInARow && full_ < kMaxFullInARow) return std::nullopt;
    return Error{ErrorCode::file_io,
                 "giving up after " + std::to_string(failed_) + " failures in a row, last: " + error.message,
                 error.system_error};
}

TargetTree::TargetTree(ConfinedDir root_directory, const message::Offer& agreed, const LandingOptions& how, TreeRun now,
                       Report& tell)
    : root(std::move(root_directory)),
      claims(root),
      offer(agreed),
      options(how),
      run(now),
      report(tell),
      old(root, offer, report, run.journal, run.job),
      own_files(claims),
      shared(*this),
      lent(root, run.journal),
      unsynced(root) {
    if (run.root_mode) lent.owe("", *run.root_mode);
    old.on_shared_mode([this](const std::string& path, std::uint32_t mode) {
        Change change;
        change.mode = mode;
        shared.defer(path, std::move(change));
    });
    if (offer.erase) eraser.emplace(root, claims, *this, &lent);
    if (run.journal != nullptr) journal.emplace(root, *run.journal);
    committer_.emplace(root, claims, report,
                       [this](const auto& orders, const auto& batch) { on_committed(orders, batch); });
}

void TargetTree::on_committed(const std::vector<CommitOrder>& orders, const CommittedBatch& batch) {
    if (batch.warning && !std::exchange(sync_warned_, true)) report.warn(*batch.warning);
    for (std::size_t i = 0; i < orders.size(); ++i) {
        const CommitOrder& order = orders[i];
        const auto& [state, error] = batch.results[i];
        if (order.type == EntryType::file) under_way.end(order.path());
        if (state == CommitState::failed) {
            report.failed(order.index, order.path(), *error);
            if (const auto fatal = commits_.failed(*error)) report.fatal(*fatal);
        } else {
            commits_.succeeded();
            on_named(order, state);
        }
    }
    if (journal) journal->flush_delivered();
}

void TargetTree::on_named(const CommitOrder& order, CommitState state) {
    const std::string path = order.path();
    if (state == CommitState::named) {
        if (order.fill) run.job->named(path);
        if (order.is) own_files.add(path, *order.is);
    }
    if (state == CommitState::skipped) return report.ended(Ended::skipped, order.type, path, 0);
    if (journal && order.done) journal->delivered(*order.done);
    const Ended how = state == CommitState::part ? Ended::part : Ended::delivered;
    if (!order.counted) report.ended(how, order.type, path, order.size);
}

void TargetTree::fail(std::uint64_t index, const std::string& path, const Error& error) {
    failed_here_ = failed_here_ || error.code != ErrorCode::not_sent;
    report.failed(index, path, error);
    if (const auto fatal = disk_.failed(error)) report.fatal(*fatal);
}

OnUnset TargetTree::unset_of(const std::string& path) {
    return [this, &path](Belonging what, int error_number) { report.lacks(EntryType::file, what, path, error_number); };
}

void TargetTree::note_unchanged(EntryType type, const std::string& path) {
    unsynced.note(split_leaf(path).directory);
    if (type == EntryType::file) note_own(path);
    report.ended(Ended::unchanged, type, path, 0);
}

void TargetTree::note_own(const std::string& path) {
    struct stat st = {};
    if (old.look(path, st)) own_files.add(path, FileId::of(st));
}

void TargetTree::ended(Ended how, EntryType type, const std::string& path, std::uint64_t size) {
    if (how == Ended::erased) unsynced.note(split_leaf(path.substr(0, path.find_last_not_of('/') + 1)).directory);
    report.ended(how, type, path, size);
}

bool TargetTree::stays(int error_number) const {
    return offer.overwrite == Overwrite::never && is_barrier(error_number);
}

Result<bool> TargetTree::make_way(const std::string& path, const std::function<Result<void>()>& ready) {
    if (!run.occupied || offer.overwrite == Overwrite::never || !old.is_directory(path)) return false;
    if (auto taken = claims.take(path); !taken) return taken.error();
    if (auto is_ready = ready(); !is_ready) return is_ready.error();
    // Complete the other pending commits before the directory goes.
    committer_->flush();
    // The missing rights are those of the directory that must go, or of its parent.
    const auto free = lent.with(path, [&] { return check_way(root, path, eraser ? &*eraser : nullptr); });
    return free ? Result<bool>(true) : free.error();
}

DeleteReplaced TargetTree::remove_replaced(const std::string& path) {
    return [this, path](int parent, const std::string& leaf) {
        if (!eraser) return ::unlinkat(parent, leaf.c_str(), AT_REMOVEDIR) == 0 ? Cleared::all : Cleared::nothing;
        const Cleared cleared = eraser->clear(parent, leaf, path);
        if (cleared == Cleared::some) {
            const std::string what = "'" + escape_name(path) + "' is in place, but the directory that it replaced";
            const std::string rest = " is not deleted: the rest of it is in '" + escape_name(leaf) + "' beside it";
            fail(kNoEntry, path, {ErrorCode::file_io, what + rest});
        }
        return cleared;
    };
}

void TargetTree::submit_link(CommitOrder commit, int parent) {
    const std::string path = commit.path();
    const auto way = make_way(path, [&]() -> Result<void> {
        const int error = try_rename(parent, commit.temporary, "." + commit.temporary);
        return error == 0 ? Result<void>() : io_error("cannot make link", path, error);
    });
    if (way) return submit(std::move(commit), *way);
    remove_from(parent, commit.temporary);
    fail(commit.index, path, way.error());
}

void TargetTree::submit(CommitOrder commit, bool replaces_directory) {
    commit.keep_existing = offer.overwrite == Overwrite::never;
    if (replaces_directory) commit.remove_replaced = remove_replaced(commit.path());
    committer_->submit(std::move(commit));
    // The committer's task uses the eraser now.
    if (replaces_directory) committer_->flush();
}

Result<TempFile> TargetTree::create_temporary(const std::string& path, std::uint64_t unique,
                                              const FileAttributes& attributes) {
    // With a journal, only this transfer uses the name: an existing file was left by a killed run.
    const auto existing = journal ? TempFile::Existing::replace : TempFile::Existing::refuse;
    return lent.with(split_leaf(path).directory,
                     [&] { return TempFile::create(root, path, unique, attributes, existing); });
}

Result<TempFile> TargetTree::copy_standing(const std::string& path, std::uint64_t unique, int from,
                                           const struct stat& st, const FileAttributes& attributes,
                                           const std::vector<message::Attribute>& extended, bool keep) {
    const auto size = static_cast<std::uint64_t>(st.st_size);
    auto file = create_temporary(path, unique, attributes);
    if (!file) return file;
    auto done = find_room(*file, size);
    for (Extent next; done && next.offset < size; next.offset += next.length) {
        next.length = std::min(size - next.offset, kPieceBytes);
        done = file->copy_from(from, next);
        if (done && !report.checked(0)) done = io_error("cannot copy", path, ECANCELED);
    }
    struct stat now = {};
    if (done && (::fstat(from, &now) != 0 || !same_content(st, now))) done = changed_here(path);
    const auto check = [&](int error) {
        if (error != 0) report.lacks(EntryType::file, Belonging::attributes, path, error);
    };
    if (done && keep) {
        std::vector<message::Attribute> kept;
        const AttributesLeft left = read_attributes(from, kept);
        check(left.too_many ? E2BIG : left.error_number);
        check(file->set_attributes(kept));
    }
    if (done) check(file->set_attributes(extended));
    if (done) done = file->complete(size, attributes, unset_of(path));
    if (done) return file;
    file->remove(root);
    return done.error();
}

Result<void> TargetTree::find_room(TempFile& file, std::uint64_t bytes, std::uint64_t more) {
    auto room = file.find_room(bytes, options, more);
    // Files that were replaced meanwhile free space on the disk. A quota learns that only from a look at the disk.
    if (room || !run.occupied || room.error().system_error == EDQUOT) return room;
    committer_->flush();
    return file.find_room(bytes, options, more);
}

std::uint64_t TargetTree::unique_of_file(std::uint64_t index, const std::string& path) const {
    return journal ? run.journal->unique_for(path) : run.unique + index;
}

std::uint64_t TargetTree::unique_of_link(std::uint64_t index, const std::string& path) const {
    return unique_of_file(index, path + '/');  // a file's path never ends in '/'
}

Result<void> TargetTree::make_link(const std::string& path, int parent, const std::string& temporary,
                                   const std::function<int()>& make) const {
    if (again(make) == 0) return {};
    // With a journal, only this transfer uses the name: an existing link was left by a killed run.
    int error = errno;
    if (error == EEXIST && journal) error = vacate(parent, temporary);
    if (error == 0 && again(make) != 0) error = errno;
    return error == 0 ? Result<void>() : io_error("cannot make link", path, error);
}

void TargetTree::sync_names() {
    if (std::exchange(names_synced_, true)) return;
    if (const int error = unsynced.sync_all(); error != 0) fail(kNoEntry, ".", io_error("cannot sync", ".", error));
}

void TargetTree::tell_lost_times() {
    if (const std::string text = lost_times.take(); !text.empty()) report.warn(text);
}

void TargetTree::close_journal(bool complete) {
    if (!journal || std::exchange(journal_closed_, true)) return;
    journal->close(complete && !failed_here_);
}

void SharedInodes::note_link(const std::string& path, const std::string& target) {
    if (!tree_.run.occupied || linked_.size() >= kMaxLinked || !check_path(split_path(target))) return;
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
    struct stat st = {};
    auto [fd, error] = tree_.root.open_at(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
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
    const bool has_time = !change.mtime || (tree_.old.look(path, named) && tree_.old.has_time(named, *change.mtime));
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
        reset = reset || (owned && tree_.offer.set_id && type == EntryType::file && (mode & mode_bits::kSetId) != 0);
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
    const std::uint32_t bits = tree_.offer.preserve ? bits_to_set(tree_.offer) : mode_bits::kPermissions;
    const ModeWithoutList limited =
        change.mode ? ModeWithoutList{*change.mode} : mode_without_list(fd, st.st_mode & bits);
    attributes.mode = limited.mode;
    if (limited.error_number != 0) tree_.report.lacks(EntryType::file, Belonging::mode, path, limited.error_number);
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
