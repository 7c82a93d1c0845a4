#include "transfer/landing/incoming_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/landing/holdings.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// The memory that a sender may use for files that it does not finish.
constexpr std::uint64_t kMaxUnfinishedBytes = 64U << 20U;
constexpr std::uint64_t kFileNodeBytes = 64;  // overhead of a container for each element
constexpr std::uint64_t kPieceBytesHeld = 160;

// The disk space that a file may reserve beyond twice the bytes that arrived.
constexpr std::uint64_t kReservedAhead = 16U << 20U;

Error not_as_said(const std::string& path) {
    return {ErrorCode::protocol, "'" + escape_name(path) +
                                     "' is not what the receiver reported: another program changed it there, or the "
                                     "sender left it out: repeat the command"};
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

IncomingFiles::IncomingFiles(TargetTree& tree, const Holdings& holdings)
    : tree_(tree), holdings_(holdings), piece_hasher_(tree.options.hash) {}

IncomingFiles::File* IncomingFiles::find(std::uint64_t index) {
    const auto at = files_.find(index);
    return at == files_.end() ? nullptr : &at->second;
}

void IncomingFiles::begin(const message::Entry& entry, const std::string& path) {
    if (entry.whole && holdings_.stays(entry, path)) return;
    if (!tree_.under_way.begin(path)) {
        return tree_.fail(entry.index, path, {ErrorCode::refused, "'" + escape_name(path) + "' is listed twice"});
    }
    File& file =
        files_
            .try_emplace(entry.index, File{path, attributes_of(entry, tree_.options), entry.size, entry.sparse,
                                           entry.whole, entry.part, FileVerifier(tree_.options.hash, entry.size)})
            .first->second;
    file.held = HeldBytes(held_);
    if (file.part && tree_.options.job == nullptr) {
        return drop(entry.index,
                    {ErrorCode::refused,
                     "'" + escape_name(path) + "' is divided between shards: run the receiver without --no-resume"});
    }
    if (file.part) file.unsynced.shared = tree_.options.job->temporary_for(path);
    static_cast<void>(too_much_unfinished(entry.index, file));
}

bool IncomingFiles::set_meta(const message::Meta& meta) {
    File* file = find(meta.index);
    if (file == nullptr) return false;
    if (tree_.options.owner && meta.has_owner) file->attributes.owner = Owner{meta.user, meta.group};
    if (meta.attributes.empty()) return true;
    if (const auto opened = ensure_open(meta.index, *file); !opened) {
        drop(meta.index, opened.error());
        return true;
    }
    const int error = file->file->set_attributes(meta.attributes);
    if (error != 0) tree_.report.lacks(EntryType::file, Belonging::attributes, file->path, error);
    return true;
}

bool IncomingFiles::too_much_unfinished(std::uint64_t index, File& file) {
    const std::uint64_t pieces = file.verifier.waiting() + file.unsynced.pieces.size() + file.part_pieces.size();
    file.held.set(sizeof(File) + 4 * kFileNodeBytes + 2 * file.path.size() + pieces * kPieceBytesHeld);
    if (held_ <= kMaxUnfinishedBytes) return false;
    drop(index, {ErrorCode::refused, "'" + escape_name(file.path) + "': the sender has too many unfinished files"});
    return true;
}

void IncomingFiles::write_piece(const WholePiece& piece) {
    File* const found = find(piece.piece.file);
    if (found == nullptr) return;  // failed before, or turned out to exist
    File& file = *found;
    if (auto stored = store(piece.piece.file, file, piece); !stored) return drop(piece.piece.file, stored.error());
    count_written(file, piece.piece);
    if (too_much_unfinished(piece.piece.file, file)) return;
    settle_if_complete(piece.piece.file, file);
}

void IncomingFiles::check_digests(const message::Digests& digests) {
    const auto at = files_.find(digests.index);
    if (at == files_.end()) return;
    std::uint64_t ordinal = digests.first;
    for (const Digest& digest : digests.digests) at->second.verifier.expected(ordinal++, digest);
    if (too_much_unfinished(digests.index, at->second)) return;
    settle_if_complete(digests.index, at->second);
}

void IncomingFiles::keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal) {
    File* const found = find(index);
    if (found == nullptr) return;
    File& file = *found;
    auto ready = ensure_open(index, file);
    if (ready) ready = reserve(file, piece_length(extent.offset, extent.length));
    if (!ready) return drop(index, ready.error());
    std::uint64_t ordinal = first_ordinal;
    for (std::uint64_t done = 0; done < extent.length; ++ordinal) {
        const Extent piece{extent.offset + done, piece_length(extent.offset + done, extent.length - done)};
        if (auto kept = keep_piece(file, piece, ordinal); !kept) return drop(index, kept.error());
        done += piece.length;
        file.arrived += piece.length;
    }
    if (too_much_unfinished(index, file)) return;
    go_on(file);
    tree_.report.kept(extent.length);
    settle_if_complete(index, file);
}

void IncomingFiles::make_hole(std::uint64_t index, const Extent& extent) {
    File* const found = find(index);
    if (found == nullptr) return;
    File& file = *found;
    file.holes = true;
    // A new file has no data there, unless it will be a clone of an older version.
    const bool old = file.part || tree_.basis.knows(file.path) || (file.file && file.file->has_old_content()) ||
                     (tree_.resume && tree_.resume->has_partial(file.path));
    if (!old) return;
    auto made = ensure_open(index, file);
    // Another shard, or another program, may have written into a file that this shard did not make.
    if (made && file.part && !file.file->has_old_content()) return;
    if (made) made = file.file->clear(extent.offset, extent.length);
    if (!made) drop(index, made.error());
}

std::optional<std::string> IncomingFiles::end(const message::FileEnd& end, std::uint64_t pieces) {
    File* const file = find(end.index);
    if (file == nullptr) return std::nullopt;
    if (end.status == FileStatus::kept) return end_kept(end.index, *file);
    const std::string& path = file->path;
    // It was counted when it was answered for.
    const bool skipped = end.status == FileStatus::skipped;
    if (skipped && (holdings_.fell_together(path) || tree_.basis.must_stay(path) || tree_.basis.is_directory(path))) {
        forget(end.index);
    } else if (end.status != FileStatus::ok) {
        const char* what = end.status == FileStatus::changed ? "changed while it was read" : "could not be read";
        const std::string why =
            end.error == 0 ? "" : ": " + std::generic_category().message(static_cast<int>(end.error));
        drop(end.index, {ErrorCode::partial, "'" + escape_name(path) + "' " + what + " at the sender" + why});
    } else {
        go_on(*file);
        file->end = end;
        file->pieces = pieces;
        settle_if_complete(end.index, *file);
    }
    return std::nullopt;
}

bool IncomingFiles::fail_next() {
    if (files_.empty()) return false;
    const auto& [index, file] = *files_.begin();
    drop(index, {ErrorCode::protocol, "'" + escape_name(file.path) + "' is incomplete"});
    return true;
}

void IncomingFiles::abandon() {
    for (auto& [index, file] : files_) {
        go_on(file);
        if (file.file && !may_continue(file)) remove_temporary(file);
    }
}

void IncomingFiles::clear() noexcept {
    files_.clear();
    open_files_ = {};
}

std::uint64_t IncomingFiles::missing_in_quota(std::uint64_t index, std::uint64_t piece) {
    const File* const file = find(index);
    if (!tree_.options.room.quota || file == nullptr) return 0;
    if (file->looked_for_room && !is_sparse(*file)) return 0;
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t bytes = ((is_sparse(*file) ? piece : file->size) + kBlock - 1) / kBlock * kBlock;
    if (tree_.options.room.quota->is_known(bytes)) return 0;
    if (tree_.options.occupied) tree_.flush();
    return bytes;
}

std::string IncomingFiles::path_of(std::uint64_t index) const {
    const auto at = files_.find(index);
    return at == files_.end() ? std::string() : at->second.path;
}

Result<void> IncomingFiles::ensure_open(std::uint64_t index, File& file) {
    if (file.file && file.file->is_open()) {
        open_files_.touch(index);
        return {};
    }
    limit_open_files();
    open_files_.touch(index);
    if (file.file) return file.file->reopen(tree_.root);
    if (auto made = make_temporary(index, file); !made) return made;
    return may_stand(file) ? Result<void>() : reserve(file, std::min(file.size, kPieceBytes));
}

void IncomingFiles::remove_temporary(File& file) {
    if (!file.part) file.file->remove(tree_.root);
}

void IncomingFiles::note_piece(File& file, ProvenPiece piece) {
    const std::uint64_t end = file.part ? file.part->offset + file.part->length : file.size;
    if (piece.offset + piece.length == end) file.last = piece;
    if (file.part) file.part_pieces.push_back(std::move(piece));
}

Result<void> IncomingFiles::share_temporary(File& file) {
    const auto open = [&]() -> Result<JobFile::Opened> {
        bool fresh = false;
        auto shared = tree_.lent.with(split_leaf(file.path).directory, [&] {
            return TempFile::share(tree_.root, file.path, file.unsynced.shared, file.attributes, fresh);
        });
        if (!shared) return shared.error();
        file.file.emplace(std::move(shared).value());
        struct stat st = {};
        if (const int error = fresh ? 0 : file.file->look(st); error != 0) {
            return io_error("cannot examine", file.path, error);
        }
        if (!fresh) return JobFile::Opened{false, times_of(st)};
        // What an answer has reported is not in a new file.
        if (tree_.resume) tree_.resume->forget_partial(file.path);
        // Test the name now: the test renames the file for a moment, and later another shard may look for it.
        const auto named = file.file->try_name(tree_.root);
        return named ? Result<JobFile::Opened>({true}) : named.error();
    };
    return tree_.options.job->begin(version_of(file), open);
}

Result<void> IncomingFiles::make_temporary(std::uint64_t index, File& file) {
    if (file.part) return share_temporary(file);
    const std::uint64_t unique = tree_.unique_of_file(index, file.path);
    if (tree_.resume && tree_.resume->has_partial(file.path)) {
        if (auto adopted = TempFile::adopt(tree_.root, file.path, unique)) {
            // The file exists, but its final rename needs the right to write to the directory.
            static_cast<void>(tree_.lent.lend(split_leaf(file.path).directory));
            file.file.emplace(std::move(adopted).value());
            return {};
        }
        tree_.resume->forget_partial(file.path);
    }
    auto created = tree_.create_temporary(file.path, unique, file.attributes);
    if (!created) return created.error();
    file.file.emplace(std::move(created).value());
    return file.size > kPieceBytes ? file.file->try_name(tree_.root) : Result<void>();
}

void IncomingFiles::limit_open_files() {
    // A sender may leave any number of files incomplete.
    const std::size_t most = descriptor_share();
    while (open_files_.size() >= most) {
        const std::uint64_t oldest = open_files_.oldest();
        open_files_.forget(oldest);
        File* const file = find(oldest);
        if (file != nullptr && file->file) file->file->rest();
    }
}

bool IncomingFiles::may_stand(const File& file) {
    return tree_.basis.knows(file.path) || tree_.basis.must_stay(file.path) ||
           tree_.basis.is_same(file.path, file.size, file.attributes.mtime);
}

Result<void> IncomingFiles::reserve(File& file, std::uint64_t piece) {
    // The places of holes are not known in advance.
    if (is_sparse(file)) return tree_.options.room.any() ? tree_.find_room(*file.file, 0, piece) : Result<void>();
    if (!std::exchange(file.looked_for_room, true) && (tree_.options.room.any() || file.size > kPieceBytes)) {
        if (auto room = tree_.find_room(*file.file, file.size); !room) return room;
    }
    // For a file of one piece, the write itself shows whether the disk has room.
    if (file.size <= kPieceBytes) return {};
    // Reserve as much again as has arrived: data that is only announced takes no disk space.
    if (file.reserved >= std::min(file.size, file.arrived + kReservedAhead / 2)) return {};
    if (tree_.options.room.any()) {
        if (auto room = tree_.find_room(*file.file, file.arrived); !room) return room;
    }
    file.reserved = std::min(file.size, 2 * file.arrived + kReservedAhead);
    return file.file->reserve(file.reserved);
}

Result<void> IncomingFiles::store(std::uint64_t index, File& file, const WholePiece& piece) {
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
    auto written = tree_.options.sparse ? file.file->write_sparse(piece.piece.file_offset, bytes)
                                        : file.file->write(piece.piece.file_offset, bytes);
    if (!written) return written;
    if (file.whole && piece.piece.length == file.size) {
        if (auto done = complete(file); !done) return done;
        file.completed = true;
    }
    note_piece(file, {piece.piece.file_offset, piece.piece.length, digest});
    if (tree_.resume && file.size > kPieceBytes) {
        tree_.resume->wrote(file.path, *file.file, file.unsynced,
                            {piece.piece.file_offset, piece.piece.length, digest});
    }
    return {};
}

Result<void> IncomingFiles::keep_piece(File& file, const Extent& piece, std::uint64_t ordinal) {
    auto digest = tree_.resume ? tree_.resume->proven(file.path, piece) : std::nullopt;
    if (!digest) {
        digest = tree_.basis.proven(file.path, piece);
        if (!digest) {
            return Error{ErrorCode::protocol, "'" + escape_name(file.path) + "': the sender left out a piece"};
        }
        if (auto copied = tree_.basis.copy(file.path, piece, *file.file); !copied) return copied;
        if (tree_.resume)
            tree_.resume->wrote(file.path, *file.file, file.unsynced, {piece.offset, piece.length, *digest});
    }
    file.verifier.computed(ordinal, piece.offset, piece.length, *digest);
    note_piece(file, {piece.offset, piece.length, *digest});
    return {};
}

void IncomingFiles::count_written(File& file, const Piece& piece) {
    // The sender may have begun the file before it knew that it exists here. Then it stops after the first piece.
    if (piece.ordinal == 0 && piece.length < file.size && !file.goes_on) {
        file.first_written = piece.length;
        return;
    }
    go_on(file);
    written_ += piece.length;
}

void IncomingFiles::go_on(File& file) {
    file.goes_on = true;
    written_ += std::exchange(file.first_written, 0);
}

Result<void> IncomingFiles::complete(File& file) {
    // Blocks take more space than bytes, and not every file was checked before.
    if (tree_.options.room.quota) {
        if (auto room = tree_.find_room(*file.file, 0); !room) return room;
    }
    bool timed = true;
    auto done = file.file->complete(file.size, file.attributes, [&](Belonging what, int error_number) {
        timed = timed && what != Belonging::time;
        tree_.report.lacks(EntryType::file, what, file.path, error_number);
    });
    struct stat st = {};
    if (done && timed && file.file->look(st) == 0) {
        tree_.lost_times.look(st, file.path, file.attributes.mtime);
        file.had = mtime_of(st);
    }
    return done;
}

void IncomingFiles::settle_if_complete(std::uint64_t index, File& file) {
    if (file.verifier.mismatch()) {
        return drop(index, {ErrorCode::integrity, "'" + escape_name(file.path) + "': a piece arrived altered"});
    }
    if (!file.end || file.verifier.verified() != file.pieces) return;
    if (file.verifier.finish() != file.end->digest) {
        return drop(index, {ErrorCode::integrity, "'" + escape_name(file.path) + "': the file's digest differs"});
    }
    if (file.part) {
        if (auto open = ensure_open(index, file); !open) return drop(index, open.error());
        tree_.note_working_disk();
        // The content is the business of all shards: it is not tested here.
        const auto way = tree_.make_way(file.path, [] { return Result<void>(); });
        return way ? commit(index, file, *way) : drop(index, way.error());
    }
    if (!file.completed) {
        auto done = ensure_open(index, file);
        if (done) done = complete(file);
        if (!done) return drop(index, done.error());
    }
    tree_.note_working_disk();
    const auto way = tree_.make_way(file.path, [&] { return file.file->try_commit(tree_.root); });
    if (!way) return drop(index, way.error());
    commit(index, file, *way);
}

Result<void> IncomingFiles::check_others(const JobFile::Version& version, const FileRange& part) {
    JobFile& job = *tree_.options.job;
    const auto others = job.doubtful(version, part);
    if (!others) return others.error();
    if (others->empty()) return {};
    const std::string temporary = temp_name(job.temporary_for(version.path));
    const auto bad = changed_parts(tree_.root, path_in(split_leaf(version.path).directory, temporary),
                                   tree_.options.hash, *others, [this] { return tree_.report.checked(0); });
    return bad ? job.judge(version, *bad) : Result<void>(bad.error());
}

void IncomingFiles::note_left(const File& file) {
    const UniqueFd fd = file.file->open_again(tree_.root);
    struct stat st = {};
    if (fd && ::fstat(fd.get(), &st) == 0) tree_.options.job->leave(version_of(file), times_of(st));
}

std::function<Result<bool>(int)> IncomingFiles::fill_of(const File& file) {
    if (!file.part) return {};
    return [this, version = version_of(file), part = *file.part, attributes = file.attributes,
            pieces = file.part_pieces](int fd) -> Result<bool> {
        JobFile& job = *tree_.options.job;
        if (const auto checked = check_others(version, part); !checked) return checked.error();
        struct stat st = {};
        if (::fstat(fd, &st) != 0) return io_error("cannot examine", version.path, errno);
        const auto whole = job.fill(version, part, pieces, times_of(st));
        if (!whole || !*whole) return whole;
        const auto done = TempFile::complete(fd, version.path, version.size, attributes, tree_.unset_of(version.path));
        if (!done) return done.error();
        const int error = sync_data(fd);
        if (error != 0 && !knows_no_sync(error)) return io_error("cannot write", version.path, error);
        return true;
    };
}

void IncomingFiles::commit(std::uint64_t index, File& file, bool replaces_directory) {
    const std::uint64_t bytes = file.part ? file.part->length : file.size;
    CommitOrder commit = file.file->into_commit(index, bytes, file.holes || is_sparse(file));
    commit.length = file.size;
    if (file.last) {
        commit.proof = FileProof{tree_.options.hash, std::move(*file.last)};
        if (!file.part && !file.holes) commit.proof->whole = file.end->digest;
        if (file.part) {
            commit.proof->pieces = [job = tree_.options.job, version = version_of(file)] {
                return job->claimed(version, {0, version.size});
            };
        }
    }
    commit.fill = fill_of(file);
    commit.time = file.attributes.mtime;
    commit.had = file.had;
    // Only the sender knows where the holes of a file were.
    if (tree_.resume && !file.holes && !file.part) {
        commit.done = record::Done{path_key(file.path), file.size, file.attributes.mtime, file.end->digest};
    }
    if (tree_.resume) commit.unproven = file.unsynced.journaled ? file.unsynced.bytes : bytes;
    open_files_.forget(index);
    tree_.basis.forget(file.path);
    files_.erase(index);
    tree_.submit(std::move(commit), replaces_directory);
}

std::optional<std::string> IncomingFiles::end_kept(std::uint64_t index, const File& file) {
    const std::string path = file.path;
    const struct stat* const resumed = tree_.resume ? tree_.resume->proven_file(path, file.size) : nullptr;
    const struct stat* const proven = resumed != nullptr ? resumed : tree_.basis.proven_file(path, file.size);
    if (tree_.basis.must_stay(path)) {
        // A file that must not be overwritten also keeps its mode, owner and attributes.
        forget(index);
        return std::nullopt;
    }
    // It was counted when it was answered for, except with a receipt.
    if (proven == nullptr && tree_.basis.is_same(path, file.size, file.attributes.mtime)) {
        if (tree_.options.announce_all) tree_.note_unchanged(EntryType::file, path);
        forget(index);
        return path;
    }
    const auto refreshed = proven != nullptr ? refresh(file, *proven) : Result<void>(not_as_said(path));
    if (!refreshed) {
        drop(index, refreshed.error());
        return std::nullopt;
    }
    tree_.claims.note_kept(path);
    const std::uint64_t size = file.size;
    const bool delivered = resumed != nullptr;
    forget(index);
    if (delivered) {
        tree_.unsynced.note(split_leaf(path).directory);
        tree_.note_own(path);
        tree_.report.kept(size);
        tree_.report.ended(Ended::kept, EntryType::file, path, size);
    } else {
        tree_.note_unchanged(EntryType::file, path);
    }
    return path;
}

Result<void> IncomingFiles::refresh(const File& file, const struct stat& proven) {
    int error = 0;
    struct stat st = {};
    const UniqueFd fd = tree_.root.open_at(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error != 0) return io_error("cannot examine", file.path, error);
    if (!same_content(proven, st)) return changed_here(file.path);
    Change change;
    if (file.attributes.exact_mode) change.mode = file.attributes.mode;
    change.mtime = file.attributes.mtime;
    if (!tree_.shared.differs(file.path, fd.get(), st, change)) return {};
    if (st.st_nlink <= 1) {
        tree_.shared.set(EntryType::file, file.path, fd.get(), st, change);
    } else {
        change.proven = proven;
        tree_.shared.defer(file.path, std::move(change));
    }
    return {};
}

void IncomingFiles::forget(std::uint64_t index) {
    auto node = files_.extract(index);
    File& file = node.mapped();
    // The sender may have begun the file before it knew that it exists.
    if (file.file) remove_temporary(file);
    open_files_.forget(index);
    tree_.basis.forget(file.path);
    tree_.under_way.end(file.path);
}

void IncomingFiles::drop(std::uint64_t index, const Error& error) {
    open_files_.forget(index);
    auto node = files_.extract(index);
    File& file = node.mapped();
    go_on(file);
    // The disk may have room at the next run. Any other error would occur again.
    const bool leave = error.code == ErrorCode::file_io && file.file && may_continue(file);
    if (file.file && !leave) {
        remove_temporary(file);
        if (tree_.resume) tree_.resume->gone(file.path);
    }
    tree_.basis.forget(file.path);
    tree_.under_way.end(file.path);
    tree_.fail(index, file.path, error);
}

bool IncomingFiles::may_continue(File& file) {
    if (!tree_.resume || !file.file || !tree_.resume->leave(file.path, *file.file, file.unsynced)) return false;
    if (!file.part && file.reserved > 0) file.file->give_back_space(tree_.root);
    if (file.part) note_left(file);
    return true;
}

}  // namespace udtx::transfer
