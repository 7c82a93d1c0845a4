#include "transfer/landing/tree_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "os/again.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/owner_rights.hpp"
#include "transfer/landing/clear_way.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// What a sender may make us remember: of files that it does not finish, and of directories that are to be finished.
constexpr std::uint64_t kMaxUnfinishedBytes = 64U << 20U;
constexpr std::uint64_t kMaxDirectoryBytes = 128U << 20U;
constexpr std::uint64_t kNodeBytes = 64;  // that a container adds to what it holds
constexpr std::uint64_t kPieceCost = 160;

// Disk that a file may hold beyond twice what has come of it.
constexpr std::uint64_t kReservedAhead = 16U << 20U;

/// Of those of a file, the ones that are set.
std::uint32_t bits_to_set(const TreeWriterOptions& options) {
    if (!options.preserve) return 0;
    return options.set_id ? mode_bits::kAll : mode_bits::kPermissions;
}

FileAttributes attributes_of(const message::Entry& entry, const TreeWriterOptions& options) {
    FileAttributes out;
    out.mode = entry.mode & (options.preserve ? bits_to_set(options) : mode_bits::kPermissions);
    out.exact_mode = options.preserve;
    out.set_mtime = true;
    out.mtime = entry.mtime;
    return out;
}

}  // namespace

TreeWriter::TreeWriter(ConfinedDir root, TreeWriterOptions options, TreeWriterCallbacks callbacks)
    : root_(std::move(root)),
      claims_(root_),
      options_(options),
      callbacks_(std::move(callbacks)),
      piece_hasher_(options.hash),
      root_digest_(options.hash),
      own_files_(claims_),
      basis_(root_, {options.hash, options.overwrite, options.by_digest, bits_to_set(options), false},
             callbacks_.checked),
      lent_(root_, options.journal),
      unsynced_(root_) {
    if (options_.root_mode) lent_.owe("", *options_.root_mode);
    basis_.on_mode_unset([this](const std::string& path, int error_number) {
        callbacks_.unset(EntryType::file, Belonging::mode, path, error_number);
    });
    if (options_.erase) {
        eraser_.emplace(
            root_, false, claims_,
            EraseCallbacks{[this](const std::string& path) { note_erased(path); },
                           [this](const std::string& path, const Error& error) { fail(kNoEntry, path, error); },
                           [this] { return callbacks_.checked(0); },
                           [this](const std::string& directory) { return lent_.lend(directory); }});
    }
    CommitCallbacks commits;
    commits.delivered = [this](const Commit& commit) {
        if (commit.type == EntryType::file) under_way_.end(commit.path());
        if (commit.is && !commit.skipped) own_files_.add(commit.path(), *commit.is);
        if (resume_ && commit.done && !commit.skipped) resume_->delivered(*commit.done);
        commits_.succeeded();
        commit.skipped ? callbacks_.skipped(commit.type) : callbacks_.delivered(commit);
    };
    commits.failed = [this](const Commit& commit, const Error& error) {
        if (commit.type == EntryType::file) under_way_.end(commit.path());
        callbacks_.failed(commit.index, commit.path(), error);
        if (const auto fatal = commits_.failed(error)) callbacks_.fatal(*fatal);
    };
    commits.unsynced = [this, told = false](const std::string& warning) mutable {
        if (!std::exchange(told, true)) callbacks_.noted(warning);
    };
    if (options_.journal != nullptr) {
        resume_.emplace(root_, options_.hash, *options_.journal, callbacks_.checked);
        commits.batch_over = [this] { resume_->flush_delivered(); };
    }
    committer_ = std::make_unique<Committer>(root_, claims_, std::move(commits));
}

TreeWriter::~TreeWriter() { abandon(); }

void TreeWriter::begin_entry(const message::Entry& entry) {
    if (entry.path.empty()) return take_top(entry);
    const std::string path = join_path(entry.path);
    if (auto checked = check_path(entry.path); !checked) return fail(entry.index, path, checked.error());
    if (eraser_) eraser_->keep(path, entry.type == EntryType::directory);
    latest_index_ = entry.index;
    latest_directory_.reset();
    latest_kept_.clear();
    if (entry.type == EntryType::directory) return make_directory(entry, path);
    if (entry.type == EntryType::symlink) return make_symlink(entry, path);
    if (entry.type == EntryType::hard_link) return remember_hard_link(entry, path);
    if (!under_way_.begin(path)) {
        return fail(entry.index, path, {ErrorCode::refused, "'" + escape_name(path) + "' comes twice"});
    }
    OpenFile& file =
        files_
            .try_emplace(entry.index, OpenFile{path, attributes_of(entry, options_), entry.size, entry.sparse,
                                               entry.whole, FileVerifier(options_.hash, entry.size)})
            .first->second;
    file.held = HeldBytes(unfinished_bytes_);
    static_cast<void>(too_much_unfinished(entry.index, file));
}

bool TreeWriter::too_much_unfinished(std::uint64_t index, OpenFile& file) {
    const std::uint64_t pieces = file.verifier.waiting() + file.unsynced.pieces.size();
    file.held.set(sizeof(OpenFile) + 4 * kNodeBytes + 2 * file.path.size() + pieces * kPieceCost);
    if (unfinished_bytes_ <= kMaxUnfinishedBytes) return false;
    drop(index, {ErrorCode::refused, "'" + escape_name(file.path) + "': the sender has begun more than it finishes"});
    return true;
}

void TreeWriter::remember_directory(FinishedDirectory directory) {
    directory_bytes_ += sizeof directory + directory.path.size();
    if (directory_bytes_ <= kMaxDirectoryBytes) return directories_.push_back(std::move(directory));
    directory_bytes_ -= sizeof directory + directory.path.size();
    if (!options_.preserve) return;
    callbacks_.unset(EntryType::directory, Belonging::mode, directory.path, ENOMEM);
    callbacks_.unset(EntryType::directory, Belonging::time, directory.path, ENOMEM);
}

/// What belongs to the destination itself.
void TreeWriter::take_top(const message::Entry& entry) {
    latest_index_ = entry.index;
    if (!options_.preserve || !options_.own_top) return;
    top_ =
        FinishedDirectory{{}, entry.mode & (options_.set_id ? mode_bits::kAll : mode_bits::kOfDirectory), entry.mtime};
    latest_directory_.emplace();
}

void TreeWriter::make_directory(const message::Entry& entry, const std::string& path) {
    SplitName split = split_leaf(path);
    std::uint32_t final_mode = entry.mode & (options_.set_id ? mode_bits::kAll : mode_bits::kOfDirectory);
    std::uint32_t before = final_mode;
    const auto made = lent_.with(split.directory, [&]() -> Result<void> {
        int error = 0;
        const UniqueFd parent = root_.open_directory(split.directory, error);
        if (parent) error = make_or_open_directory(parent.get(), split, entry, before);
        return error == 0 ? Result<void>() : io_error("cannot make directory", path, error);
    });
    if (!made && made.error().system_error == EEXIST) return fail(entry.index, path, falls_together(path));
    if (!made && stays(made.error().system_error)) return callbacks_.skipped(entry.type);
    if (!made) return fail(entry.index, path, made.error());
    if (!options_.preserve) final_mode = lent_.owed(path).value_or(before);
    const bool barred = (final_mode & mode_bits::kOwner) != mode_bits::kOwner;
    if (options_.preserve || barred) remember_directory({path, final_mode, entry.mtime});
    latest_directory_ = path;
    Commit commit;
    commit.index = entry.index;
    commit.type = EntryType::directory;
    commit.directory = std::move(split.directory);
    commit.name = std::move(split.leaf);
    committer_->submit(std::move(commit));
}

int TreeWriter::make_or_open_directory(int parent, const SplitName& split, const message::Entry& entry,
                                       std::uint32_t& before) {
    // The owner needs all rights until the tree below is written; restore_directories() takes them away again.
    const std::uint32_t wanted = entry.mode & mode_bits::kPermissions;
    const std::string path = join_path(entry.path);
    const auto make = [&] {
        if (::mkdirat(parent, split.leaf.c_str(), static_cast<mode_t>(wanted | mode_bits::kOwner)) != 0) return errno;
        if ((wanted & mode_bits::kOwner) != mode_bits::kOwner) lent_.owe(path, wanted);
        claims_.note_made_directory(parent, split.directory, split.leaf);
        return 0;
    };
    int error = make();
    if (error != EEXIST) return error;
    error = open_up_directory(parent, split.leaf, before, [&](std::uint32_t mode) { lent_.owe(path, mode); });
    if (error == 0) claims_.take_directory(parent, split.directory, split.leaf);
    if (!is_barrier(error)) return error;
    if (!claims_.take(parent, split.directory, split.leaf)) return EEXIST;
    if (stays(error)) return error;
    // Until the directory is there it stands aside.
    const std::string aside = temp_name(unique_of_link(entry.index, path));
    const auto rename = [&](const std::string& from, const std::string& to) {
        return again([&] { return ::renameat(parent, from.c_str(), parent, to.c_str()); }) == 0 ? 0 : errno;
    };
    if (error = rename(split.leaf, aside); error != 0) return error;
    before = entry.mode;
    error = make();
    if (error != 0) {
        static_cast<void>(rename(aside, split.leaf));
    } else {
        ::unlinkat(parent, aside.c_str(), 0);
    }
    return error;
}

bool TreeWriter::stays(int error_number) const {
    return options_.overwrite == Overwrite::never && is_barrier(error_number);
}

Result<bool> TreeWriter::make_way(const std::string& path, const std::function<Result<void>()>& ready) {
    if (!options_.occupied || options_.overwrite == Overwrite::never || !basis_.is_directory(path)) return false;
    if (auto free = claims_.take(path); !free) return free.error();
    if (auto is_ready = ready(); !is_ready) return is_ready.error();
    // What else is pending is not to come between.
    committer_->flush();
    // What bars the way is the directory that is to go, or the one it is in.
    const auto clear = [&] { return clear_way(root_, path, eraser_ ? &*eraser_ : nullptr); };
    const auto cleared = lent_.with(path, clear);
    return cleared ? Result<bool>(true) : cleared.error();
}

Result<bool> TreeWriter::make_way_for_link(const std::string& path, int parent, const std::string& temporary) {
    auto way = make_way(path, [&]() -> Result<void> {
        const int error = try_rename(parent, temporary, "." + temporary);
        return error == 0 ? Result<void>() : io_error("cannot make link", path, error);
    });
    if (!way) remove_from(parent, temporary);
    return way;
}

void TreeWriter::submit(Commit commit, bool replaces_directory) {
    commit.replaces_directory = replaces_directory;
    committer_->submit(std::move(commit));
    if (replaces_directory) committer_->flush();
}

void TreeWriter::make_symlink(const message::Entry& entry, const std::string& path) {
    if (entry.target.empty() || entry.target.find('\0') != std::string::npos) {
        return fail(entry.index, path, {ErrorCode::refused, "link '" + escape_name(path) + "' has no usable target"});
    }
    SplitName split = split_leaf(path);
    int error = 0;
    const UniqueFd parent = root_.open_directory(split.directory, error);
    if (stays(error)) return callbacks_.skipped(entry.type);
    if (!parent) return fail(entry.index, path, io_error("cannot make link", path, error));
    if (const auto free = claims_.take(path); !free) return fail(entry.index, path, free.error());
    if (is_link_to(root_, path, entry.target)) {
        claims_.note_kept(path);
        return note_unchanged(entry.type, path);
    }
    const std::string temporary = temp_name(unique_of_link(entry.index, path));
    const auto made = lent_.with(split.directory, [&] {
        return make_link(path, parent.get(), temporary,
                         [&] { return ::symlinkat(entry.target.c_str(), parent.get(), temporary.c_str()); });
    });
    if (!made) return fail(entry.index, path, made.error());
    struct stat st = {};
    error = options_.preserve ? set_link_time(parent.get(), temporary, entry.mtime) : 0;
    if (error != 0) {
        callbacks_.unset(EntryType::symlink, Belonging::time, path, error);
    } else if (options_.preserve && ::fstatat(parent.get(), temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        lost_times_.look(st, path, entry.mtime);
    }
    const auto way = make_way_for_link(path, parent.get(), temporary);
    if (!way) return fail(entry.index, path, way.error());
    Commit commit;
    commit.index = entry.index;
    commit.type = EntryType::symlink;
    commit.directory = std::move(split.directory);
    commit.temporary = temporary;
    commit.name = std::move(split.leaf);
    commit.keep_existing = options_.overwrite == Overwrite::never;
    submit(std::move(commit), *way);
}

std::uint64_t TreeWriter::unique_of_link(std::uint64_t index, const std::string& path) const {
    // No path of a file ends so.
    return resume_ ? resume_->unique_for(path + '/') : options_.unique + index;
}

Result<void> TreeWriter::make_link(const std::string& path, int parent, const std::string& temporary,
                                   const std::function<int()>& make) const {
    if (again(make) == 0) return {};
    // With a journal the name is ours alone: what stands there was left by a killed run.
    const bool left = errno == EEXIST && resume_ && ::unlinkat(parent, temporary.c_str(), 0) == 0;
    return left && again(make) == 0 ? Result<void>() : io_error("cannot make link", path, errno);
}

void TreeWriter::write_piece(const WholePiece& piece) {
    const auto at = files_.find(piece.piece.file);
    if (at == files_.end()) return;  // failed before, or was begun for nothing
    OpenFile& file = at->second;
    if (auto stored = store(piece.piece.file, file, piece); !stored) return drop(piece.piece.file, stored.error());
    count_written(file, piece.piece);
    if (too_much_unfinished(piece.piece.file, file)) return;
    settle_if_complete(piece.piece.file, file);
}

void TreeWriter::count_written(OpenFile& file, const Piece& piece) {
    // The sender may have begun it before it knew that the file is here; then it stops after the first piece.
    if (piece.ordinal == 0 && piece.length < file.size && !file.goes_on) {
        file.first_written = piece.length;
        return;
    }
    go_on(file);
    written_ += piece.length;
}

void TreeWriter::go_on(OpenFile& file) {
    file.goes_on = true;
    written_ += std::exchange(file.first_written, 0);
}

Result<void> TreeWriter::ensure_open(std::uint64_t index, OpenFile& file) {
    if (file.file && file.file->is_open()) {
        open_files_.touch(index);
        return {};
    }
    limit_open_files();
    open_files_.touch(index);
    if (file.file) return file.file->reopen(root_);
    if (auto made = make_temporary(index, file); !made) return made;
    return may_stand(file) ? Result<void>() : reserve(file, std::min(file.size, kPieceBytes));
}

bool TreeWriter::may_stand(const OpenFile& file) {
    return basis_.knows(file.path) || basis_.must_stay(file.path) ||
           basis_.is_same(file.path, file.size, file.attributes.mtime);
}

Result<void> TreeWriter::find_room(TempFile& file, std::uint64_t bytes, std::uint64_t more) {
    auto room = file.find_room(bytes, options_.room, more);
    // What has been replaced meanwhile makes room on the disk; in a quota only a look at it finds that out.
    if (room || !options_.occupied || room.error().system_error == EDQUOT) return room;
    committer_->flush();
    return file.find_room(bytes, options_.room, more);
}

std::uint64_t TreeWriter::missing_in_quota(std::uint64_t index, std::uint64_t piece) {
    const auto at = files_.find(index);
    if (!options_.room.quota || at == files_.end()) return 0;
    const OpenFile& file = at->second;
    const bool piecewise = file.sparse || options_.sparse;
    if (file.looked_for_room && !piecewise) return 0;
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t bytes = ((piecewise ? piece : file.size) + kBlock - 1) / kBlock * kBlock;
    if (options_.room.quota->is_known(bytes)) return 0;
    if (options_.occupied) committer_->flush();
    return bytes;
}

Result<void> TreeWriter::reserve(OpenFile& file, std::uint64_t piece) {
    // What will be a hole is not known before.
    if (file.sparse || options_.sparse) return options_.room.any() ? find_room(*file.file, 0, piece) : Result<void>();
    if (!std::exchange(file.looked_for_room, true) && (options_.room.any() || file.size > kPieceBytes)) {
        if (auto room = find_room(*file.file, file.size); !room) return room;
    }
    // A file of one piece finds out about the disk by writing it.
    if (file.size <= kPieceBytes) return {};
    // As much again as has come: what is only announced takes no disk.
    if (file.reserved >= std::min(file.size, file.arrived + kReservedAhead / 2)) return {};
    if (options_.room.any()) {
        if (auto room = find_room(*file.file, file.arrived); !room) return room;
    }
    file.reserved = std::min(file.size, 2 * file.arrived + kReservedAhead);
    return file.file->reserve(file.reserved);
}

Result<void> TreeWriter::make_temporary(std::uint64_t index, OpenFile& file) {
    const std::uint64_t unique = resume_ ? resume_->unique_for(file.path) : options_.unique + index;
    if (resume_ && resume_->has_partial(file.path)) {
        if (auto adopted = TempFile::adopt(root_, file.path, unique)) {
            // It is there already; to give it its name takes the right to write.
            static_cast<void>(lent_.lend(split_leaf(file.path).directory));
            file.file.emplace(std::move(adopted).value());
            return {};
        }
        resume_->forget_partial(file.path);
    }
    // With a journal the name is ours alone: what stands there was left by a killed run.
    const auto existing = resume_ ? TempFile::Existing::replace : TempFile::Existing::refuse;
    auto created = lent_.with(split_leaf(file.path).directory,
                              [&] { return TempFile::create(root_, file.path, unique, file.attributes, existing); });
    if (!created) return created.error();
    file.file.emplace(std::move(created).value());
    return file.size > kPieceBytes ? file.file->try_name(root_) : Result<void>();
}

void TreeWriter::limit_open_files() {
    // A sender may withhold the rest of any number of files.
    const std::size_t most = descriptor_share();
    while (open_files_.size() >= most) {
        const std::uint64_t oldest = open_files_.oldest();
        open_files_.forget(oldest);
        const auto at = files_.find(oldest);
        if (at != files_.end() && at->second.file) at->second.file->rest();
    }
}

Result<void> TreeWriter::store(std::uint64_t index, OpenFile& file, const WholePiece& piece) {
    piece_hasher_.reset();
    piece_hasher_.update(piece.data.bytes());
    const Digest digest = piece_hasher_.finish();
    file.verifier.computed(piece.piece.ordinal, piece.piece.file_offset, piece.piece.length, digest);
    if (auto open = ensure_open(index, file); !open) return open;
    if (piece.piece.ordinal > 0) {
        if (auto reserved = reserve(file, piece.piece.length); !reserved) return reserved;
    }
    file.arrived += piece.piece.length;
    const auto bytes = piece.data.bytes();
    auto written = options_.sparse ? file.file->write_sparse(piece.piece.file_offset, bytes)
                                   : file.file->write(piece.piece.file_offset, bytes);
    if (!written) return written;
    if (file.whole && piece.piece.length == file.size) {
        if (auto done = complete(file); !done) return done;
        file.completed = true;
    }
    if (resume_ && file.size > kPieceBytes) {
        resume_->wrote(file.path, *file.file, file.unsynced, {piece.piece.file_offset, piece.piece.length, digest});
    }
    return {};
}

Result<void> TreeWriter::complete(OpenFile& file) {
    // Blocks are more than bytes, and not every file was looked at before.
    if (options_.room.quota) {
        if (auto room = find_room(*file.file, 0); !room) return room;
    }
    bool timed = true;
    auto done = file.file->complete(file.size, file.attributes, [&](Belonging what, int error_number) {
        timed = timed && what != Belonging::time;
        callbacks_.unset(EntryType::file, what, file.path, error_number);
    });
    struct stat st = {};
    if (done && timed && file.file->look(st) == 0) {
        lost_times_.look(st, file.path, file.attributes.mtime);
        file.had = mtime_of(st);
    }
    return done;
}

void TreeWriter::check_digests(const message::Digests& digests) {
    const auto at = files_.find(digests.index);
    if (at == files_.end()) return;
    std::uint64_t ordinal = digests.first;
    for (const Digest& digest : digests.digests) at->second.verifier.expected(ordinal++, digest);
    if (too_much_unfinished(digests.index, at->second)) return;
    settle_if_complete(digests.index, at->second);
}

void TreeWriter::end_file(const message::FileEnd& end, std::uint64_t pieces) {
    if (end.status == FileStatus::ok) root_digest_.add(end.index, end.digest);
    const auto at = files_.find(end.index);
    if (at == files_.end()) return;
    if (end.status == FileStatus::kept) return end_kept(end.index);
    const std::string& path = at->second.path;
    const bool skipped = end.status == FileStatus::skipped;
    // Counted when it was answered for.
    const bool together = !together_.empty() && together_.count(path_key(path)) > 0;
    if (skipped && (together || basis_.must_stay(path) || basis_.is_directory(path))) return forget(end.index);
    if (end.status != FileStatus::ok) {
        const char* why = end.status == FileStatus::changed ? "changed while it was read" : "could not be read";
        return drop(end.index, {ErrorCode::partial, "'" + escape_name(path) + "' " + why + " at the sender"});
    }
    go_on(at->second);
    at->second.end = end;
    at->second.pieces = pieces;
    settle_if_complete(end.index, at->second);
}

void TreeWriter::settle_if_complete(std::uint64_t index, OpenFile& file) {
    if (file.verifier.mismatch()) {
        return drop(index, {ErrorCode::integrity, "'" + escape_name(file.path) + "': a piece arrived altered"});
    }
    if (!file.end || file.verifier.verified() != file.pieces) return;
    if (file.verifier.finish() != file.end->digest) {
        return drop(index, {ErrorCode::integrity, "'" + escape_name(file.path) + "': the file's digest differs"});
    }
    if (!file.completed) {
        auto done = ensure_open(index, file);
        if (done) done = complete(file);
        if (!done) return drop(index, done.error());
    }
    disk_.succeeded();
    const auto way = make_way(file.path, [&] { return file.file->try_commit(root_); });
    if (!way) return drop(index, way.error());
    Commit commit = file.file->into_commit(index, file.size, has_holes(file));
    commit.time = file.attributes.mtime;
    commit.had = file.had;
    commit.done = done_record(file);
    commit.keep_existing = options_.overwrite == Overwrite::never;
    if (resume_) commit.unproven = file.unsynced.journaled ? file.unsynced.bytes : file.size;
    open_files_.forget(index);
    basis_.forget(file.path);
    files_.erase(index);
    submit(std::move(commit), *way);
}

void TreeWriter::abandon() noexcept {
    // What fails for want of memory, or of a committer, is left as after a kill; the rest is done all the same.
    const auto attempt = [](const auto& step) {
        try {
            step();
        } catch (const std::exception&) {
        }
    };
    attempt([this] {
        for (auto& [index, file] : files_) {
            go_on(file);
            if (file.file && !may_continue(file)) file.file->remove(root_);
        }
    });
    files_.clear();
    open_files_ = {};
    attempt([this] {
        if (committer_) committer_->flush();
    });
    attempt([this] {
        if (copying_) copying_->file.remove(root_);
        copying_.reset();
    });
    attempt([this] { count_standing_links(); });
    attempt([this] { restore_directories(); });
    attempt([this] { tell_lost_times(); });
    attempt([this] { close_journal(false); });
}

void TreeWriter::fail(std::uint64_t index, const std::string& path, const Error& error) {
    failed_here_ = failed_here_ || error.code != ErrorCode::partial;
    callbacks_.failed(index, path, error);
    if (const auto fatal = disk_.failed(error)) callbacks_.fatal(*fatal);
}

OnUnset TreeWriter::unset_of(const std::string& path) {
    return [this, &path](Belonging what, int error_number) {
        callbacks_.unset(EntryType::file, what, path, error_number);
    };
}

void TreeWriter::drop(std::uint64_t index, const Error& error) {
    open_files_.forget(index);
    auto node = files_.extract(index);
    OpenFile& file = node.mapped();
    go_on(file);
    // Room on the disk may be made until the next run; anything else would be found again.
    const bool leave = error.code == ErrorCode::file_io && file.file && may_continue(file);
    if (file.file && !leave) {
        file.file->remove(root_);
        if (resume_) resume_->gone(file.path);
    }
    basis_.forget(file.path);
    under_way_.end(file.path);
    fail(index, file.path, error);
}

std::string TreeWriter::path_of(std::uint64_t index) const {
    const auto at = files_.find(index);
    return at == files_.end() ? std::string() : at->second.path;
}

}  // namespace udtx::transfer
