#include "transfer/landing/target_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

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

std::uint32_t bits_to_set(const TreeWriterOptions& options) {
    if (!options.preserve) return 0;
    return options.set_id ? mode_bits::kAll : mode_bits::kPermissions;
}

TargetTree::TargetTree(ConfinedDir root_directory, TreeWriterOptions how, Report& tell)
    : root(std::move(root_directory)),
      claims(root),
      options(how),
      report(tell),
      basis(root, {options.hash, options.overwrite, options.by_digest, bits_to_set(options), false}, report),
      own_files(claims),
      shared(*this),
      lent(root, options.journal),
      unsynced(root) {
    if (options.root_mode) lent.owe("", *options.root_mode);
    basis.on_shared_mode([this](const std::string& path, std::uint32_t mode) {
        Change change;
        change.mode = mode;
        shared.defer(path, std::move(change));
    });
    if (options.erase) {
        eraser.emplace(
            root, false, claims,
            EraseCallbacks{[this](const std::string& path) { note_erased(path); },
                           [this](const std::string& path, const Error& error) { fail(kNoEntry, path, error); },
                           [this] { return report.checked(0); },
                           [this](const std::string& directory) { return lent.lend(directory); }});
    }
    if (options.journal != nullptr) {
        resume.emplace(root, options.hash, *options.journal, options.job, report);
    }
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
    if (resume) resume->flush_delivered();
}

void TargetTree::on_named(const CommitOrder& order, CommitState state) {
    const std::string path = order.path();
    if (state == CommitState::named) {
        if (order.fill) options.job->named(path);
        if (order.is) own_files.add(path, *order.is);
    }
    if (state == CommitState::skipped) return report.ended(Ended::skipped, order.type, path, 0);
    if (resume && order.done) resume->delivered(*order.done);
    const Ended how = state == CommitState::part ? Ended::part : Ended::delivered;
    if (!order.counted) report.ended(how, order.type, path, order.size);
}

void TargetTree::fail(std::uint64_t index, const std::string& path, const Error& error) {
    failed_here_ = failed_here_ || error.code != ErrorCode::partial;
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
    if (basis.look(path, st)) own_files.add(path, FileId::of(st));
}

void TargetTree::note_erased(const std::string& path) {
    unsynced.note(split_leaf(path.substr(0, path.find_last_not_of('/') + 1)).directory);
    report.ended(Ended::erased, path.ends_with('/') ? EntryType::directory : EntryType::file, path, 0);
}

bool TargetTree::stays(int error_number) const {
    return options.overwrite == Overwrite::never && is_barrier(error_number);
}

Result<bool> TargetTree::make_way(const std::string& path, const std::function<Result<void>()>& ready) {
    if (!options.occupied || options.overwrite == Overwrite::never || !basis.is_directory(path)) return false;
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
    commit.keep_existing = options.overwrite == Overwrite::never;
    if (replaces_directory) commit.remove_replaced = remove_replaced(commit.path());
    committer_->submit(std::move(commit));
    // The committer's task uses the eraser now.
    if (replaces_directory) committer_->flush();
}

Result<TempFile> TargetTree::create_temporary(const std::string& path, std::uint64_t unique,
                                              const FileAttributes& attributes) {
    // With a journal, only this transfer uses the name: an existing file was left by a killed run.
    const auto existing = resume ? TempFile::Existing::replace : TempFile::Existing::refuse;
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
    auto room = file.find_room(bytes, options.room, more);
    // Files that were replaced meanwhile free space on the disk. A quota learns that only from a look at the disk.
    if (room || !options.occupied || room.error().system_error == EDQUOT) return room;
    committer_->flush();
    return file.find_room(bytes, options.room, more);
}

std::uint64_t TargetTree::unique_of_file(std::uint64_t index, const std::string& path) const {
    return resume ? resume->unique_for(path) : options.unique + index;
}

std::uint64_t TargetTree::unique_of_link(std::uint64_t index, const std::string& path) const {
    return unique_of_file(index, path + '/');  // a file's path never ends in '/'
}

Result<void> TargetTree::make_link(const std::string& path, int parent, const std::string& temporary,
                                   const std::function<int()>& make) const {
    if (again(make) == 0) return {};
    // With a journal, only this transfer uses the name: an existing link was left by a killed run.
    int error = errno;
    if (error == EEXIST && resume) error = vacate(parent, temporary);
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
    if (!resume || std::exchange(journal_closed_, true)) return;
    resume->close(complete && !failed_here_);
}

}  // namespace udtx::transfer
