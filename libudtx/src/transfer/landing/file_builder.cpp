#include "transfer/landing/file_builder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/state_access.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr std::uint64_t kFileNodeBytes = 64;  // overhead of a container for each element
constexpr std::uint64_t kPieceBytesHeld = 160;

// The disk space that a file may reserve beyond twice the bytes that arrived.
constexpr std::uint64_t kReservedAhead = 16U << 20U;

Error not_as_said(const std::string& path) {
    return {ErrorCode::protocol, "'" + escape_name(path) +
                                     "' is not what the receiver reported: another program changed it there, or the "
                                     "sender left it out: repeat the command"};
}

FileAttributes attributes_of(const message::Entry& entry, const message::Offer& offer) {
    FileAttributes out;
    out.mode = entry.mode & (offer.preserve ? bits_to_set(offer) : mode_bits::kPermissions);
    out.exact_mode = offer.preserve;
    out.set_mtime = true;
    out.mtime = entry.mtime;
    return out;
}

/// Reads what other shards have filled of a file, to see whether another program changed it.
class PartCheck {
  public:
    PartCheck(int fd, HashAlgorithm hash, const std::function<bool()>& go_on) : fd_(fd), hasher_(hash), go_on_(go_on) {}

    /// 0, or why it cannot be said: an errno.
    [[nodiscard]] int error() const noexcept { return error_; }
    [[nodiscard]] bool holds(const JobFile::FilledPart& filled) {
        std::uint64_t at = filled.part.offset;
        for (const ProvenPiece& piece : filled.pieces) {
            if (!is_hole(at, piece.offset) || !may_go_on()) return false;
            const auto digest = hasher_.hash(fd_, piece.offset, piece.length);
            if (!was_read() || digest != piece.digest) return false;
            at = piece.offset + piece.length;
        }
        return is_hole(at, filled.part.offset + filled.part.length);
    }

  private:
    [[nodiscard]] bool may_go_on() {
        if (error_ == 0 && !go_on_()) error_ = ECANCELED;
        return error_ == 0;
    }
    /// A file that ends too early was changed, too.
    [[nodiscard]] bool was_read() {
        if (hasher_.error() != 0 && hasher_.error() != ENODATA) error_ = hasher_.error();
        return hasher_.error() == 0;
    }
    /// True if the bytes from `at` to `end` are zero, or beyond the end of the file: its size is set last.
    [[nodiscard]] bool is_hole(std::uint64_t at, std::uint64_t end) {
        struct stat st = {};
        if (::fstat(fd_, &st) != 0) error_ = errno;
        end = std::min(end, static_cast<std::uint64_t>(st.st_size));
        while (error_ == 0 && at < end) {
#ifdef SEEK_DATA
            const off_t data = ::lseek(fd_, static_cast<off_t>(at), SEEK_DATA);
            if (data < 0 && errno == ENXIO) return true;
            if (data >= 0) at = std::max(at, static_cast<std::uint64_t>(data));
            if (at >= end) break;
#endif
            const std::uint64_t length = piece_length(at, end - at);
            if (!may_go_on()) return false;
            const auto zero = hasher_.is_zero(fd_, at, length);
            if (!was_read() || zero != true) return false;
            at += length;
        }
        return error_ == 0;
    }

    int fd_;
    PieceHasher hasher_;
    const std::function<bool()>& go_on_;
    int error_ = 0;
};

/// Offsets of the parts that are not as their shards wrote them. All are, if the file is missing. `temporary`: the path
/// of the file. `go_on` is called for each piece; false: stop. file_io: they cannot be read.
Result<std::vector<std::uint64_t>> changed_parts(const ConfinedDir& root, const std::string& temporary,
                                                 HashAlgorithm hash, const std::vector<JobFile::FilledPart>& parts,
                                                 const std::function<bool()>& go_on) {
    std::vector<std::uint64_t> out;
    auto [fd, error] = root.open_at(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (!fd && error != ENOENT) return io_error("cannot read back", temporary, error);
    PartCheck check(fd.get(), hash, go_on);
    for (const JobFile::FilledPart& filled : parts) {
        if (!fd || !check.holds(filled)) out.push_back(filled.part.offset);
        if (check.error() != 0) return io_error("cannot read back", temporary, check.error());
    }
    return out;
}

/// Reads what other shards filled, if another program may have changed it.
Result<void> check_others(const TargetTree& tree, const JobFile::Version& version, const FileRange& part) {
    JobFile& job = *tree.run.job;
    const auto others = job.doubtful(version, part);
    if (!others) return others.error();
    if (others->empty()) return {};
    const std::string temporary = temp_name(job.temporary_for(version.path));
    const auto bad = changed_parts(tree.root, path_in(split_leaf(version.path).directory, temporary), tree.offer.hash,
                                   *others, [&tree] { return tree.report.checked(0); });
    return bad ? job.judge(version, *bad) : Result<void>(bad.error());
}

}  // namespace

FileBuilder::FileBuilder(FilesUnderWay& files, const message::Entry& entry, std::string path)
    : files_(files),
      tree_(files.tree),
      index_(entry.index),
      path_(std::move(path)),
      size_(entry.size),
      sparse_(entry.sparse),
      part_(entry.part),
      attributes_(attributes_of(entry, tree_.offer)),
      verifier_(tree_.offer.hash, entry.size) {
    if (part_ && tree_.run.job != nullptr) unsynced_.shared = tree_.run.job->temporary_for(path_);
}

std::uint64_t FileBuilder::held() const noexcept {
    const std::uint64_t pieces = verifier_.waiting() + unsynced_.pieces.size() + part_pieces_.size();
    return sizeof *this + 4 * kFileNodeBytes + 2 * path_.size() + pieces * kPieceBytesHeld;
}

void FileBuilder::go_on() {
    if (state_ == FileState::speculative) state_.enter(FileState::building);
    files_.written += std::exchange(first_written_, 0);
}

std::uint64_t FileBuilder::missing_in_quota(std::uint64_t piece) const {
    if (reserved_ && !is_sparse()) return 0;
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t bytes = ((is_sparse() ? piece : size_) + kBlock - 1) / kBlock * kBlock;
    return StateAccess::of(*tree_.options.quota)->is_known(bytes) ? 0 : bytes;
}

Result<void> FileBuilder::set_meta(const message::Meta& meta) {
    if (tree_.offer.owner && meta.has_owner) attributes_.owner = Owner{meta.user, meta.group};
    if (meta.attributes.empty()) return {};
    if (auto opened = ensure_open(); !opened || named_) return opened;
    const int error = temporary_->set_attributes(meta.attributes);
    if (error != 0) tree_.report.lacks(EntryType::file, Belonging::attributes, path_, error);
    return {};
}

Result<void> FileBuilder::write(const WholePiece& piece) {
    const auto& [where, data] = piece;
    files_.hasher.reset();
    files_.hasher.update(data.bytes());
    const ProvenPiece proven{where.file_offset, where.length, files_.hasher.finish()};
    verifier_.computed(where.ordinal, proven);
    if (auto open = ensure_open(); !open) return open;
    if (where.ordinal > 0) {
        if (auto reserved = reserve(where.length); !reserved) return reserved;
    }
    arrived_ += where.length;
    const auto written = named_               ? compare({where.file_offset, where.length}, {proven})
                         : tree_.offer.sparse ? temporary_->write_sparse(where.file_offset, data.bytes())
                                              : temporary_->write(where.file_offset, data.bytes());
    if (!written) return written;
    // The sender may have begun the file before it knew that it exists here. Then it stops after the first piece.
    if (where.ordinal > 0 || where.length >= size_) go_on();
    note_piece(proven);
    if (size_ > kPieceBytes) note_written(proven);
    (state_ == FileState::speculative ? first_written_ : files_.written) += where.length;
    return {};
}

void FileBuilder::expect(const message::Digests& digests) {
    std::uint64_t ordinal = digests.first;
    for (const Digest& digest : digests.digests) verifier_.expected(ordinal++, digest);
}

Result<void> FileBuilder::keep(const Extent& extent, std::uint64_t first_ordinal) {
    auto ready = ensure_open();
    if (ready) ready = reserve(piece_length(extent.offset, extent.length));
    if (!ready) return ready;
    std::uint64_t ordinal = first_ordinal;
    for (std::uint64_t done = 0; done < extent.length; ++ordinal) {
        const Extent piece{extent.offset + done, piece_length(extent.offset + done, extent.length - done)};
        if (auto kept = keep_piece(piece, ordinal); !kept) return kept;
        done += piece.length;
        arrived_ += piece.length;
    }
    go_on();
    tree_.report.kept(extent.length);
    return {};
}

Result<void> FileBuilder::keep_piece(const Extent& piece, std::uint64_t ordinal) {
    const auto proven = tree_.old.proven(path_, piece);
    if (!proven) return Error{ErrorCode::protocol, "'" + escape_name(path_) + "': the sender left out a piece"};
    const ProvenPiece kept{piece.offset, piece.length, proven->digest};
    if (named_) {
        if (auto same = compare(piece, {kept}); !same) return same;
    } else if (!proven->in_temporary) {
        if (auto copied = tree_.old.copy(path_, piece, *temporary_); !copied) return copied;
        note_written(kept);
    }
    verifier_.computed(ordinal, kept);
    note_piece(kept);
    return {};
}

Result<void> FileBuilder::make_hole(const Extent& extent) {
    holes_ = true;
    // A new file has no data there, unless it will be a clone of an older version.
    const bool old = part_ || tree_.old.has_reported(path_) || (temporary_ && temporary_->has_old_content()) ||
                     tree_.old.has_partial(path_);
    if (!old) return {};
    if (auto opened = ensure_open(); !opened) return opened;
    if (named_) return compare(extent, {});
    // Another shard, or another program, may have written into a file that this shard did not make.
    if (part_ && !temporary_->has_old_content()) return {};
    return temporary_->clear(extent.offset, extent.length);
}

void FileBuilder::finish(const message::FileEnd& end, std::uint64_t pieces) {
    go_on();
    end_ = end;
    pieces_ = pieces;
}

Result<void> FileBuilder::settle() {
    if (verifier_.mismatch()) {
        return Error{ErrorCode::integrity, "'" + escape_name(path_) + "': a piece arrived altered"};
    }
    if (!end_ || verifier_.verified() != pieces_) return {};
    if (verifier_.finish() != end_->digest) {
        return Error{ErrorCode::integrity, "'" + escape_name(path_) + "': the file's digest differs"};
    }
    auto done = ensure_open();
    // Not before: owner and attributes may come after the last piece. The last of the shards completes a part.
    if (done && !part_) done = complete();
    if (!done) return done;
    tree_.note_working_disk();
    // The content of a file with parts is the business of all shards: it is not tested here.
    const auto way = tree_.make_way(path_, [&] { return part_ ? Result<void>() : temporary_->try_commit(tree_.root); });
    if (!way) return way.error();
    replaces_directory_ = *way;
    state_.enter(FileState::committing);
    return {};
}

void FileBuilder::leave_open_list() {
    if (in_open_list_) files_.open.erase(*std::exchange(in_open_list_, std::nullopt));
}

void FileBuilder::rest() {
    leave_open_list();
    if (temporary_) temporary_->rest();
}

Result<void> FileBuilder::ensure_open() {
    if (named_) return {};
    if (!in_open_list_) {
        // A sender may leave any number of files incomplete.
        const std::size_t most = descriptor_share();
        while (files_.open.size() >= most) files_.open.front()->rest();
        in_open_list_ = files_.open.insert(files_.open.end(), this);
    } else {
        files_.open.splice(files_.open.end(), files_.open, *in_open_list_);
    }
    if (temporary_) return temporary_->is_open() ? Result<void>() : temporary_->reopen(tree_.root);
    if (auto made = make_temporary(); !made || named_) return made;
    // The sender may have begun the file before it knew that it exists here, and may end it as kept.
    const bool may_stand = tree_.old.has_reported(path_) || tree_.old.must_stay(path_) ||
                           tree_.old.is_same(path_, size_, attributes_.mtime);
    return may_stand ? Result<void>() : reserve(std::min(size_, kPieceBytes));
}

Result<void> FileBuilder::make_temporary() {
    if (part_) return share_temporary();
    const std::uint64_t unique = tree_.unique_of_file(index_, path_);
    if (tree_.old.has_partial(path_)) {
        if (auto adopted = TempFile::adopt(tree_.root, path_, unique)) {
            // The file exists, but its final rename needs the right to write to the directory.
            static_cast<void>(tree_.lent.lend(split_leaf(path_).directory));
            temporary_.emplace(std::move(adopted).value());
            return {};
        }
        tree_.old.forget_partial(path_);
    }
    auto created = tree_.create_temporary(path_, unique, attributes_);
    if (!created) return created.error();
    temporary_.emplace(std::move(created).value());
    return size_ > kPieceBytes ? temporary_->try_name(tree_.root) : Result<void>();
}

Result<void> FileBuilder::share_temporary() {
    const auto open = [&](bool whole) -> Result<JobFile::Opened> {
        using Missing = TempFile::Missing;
        bool fresh = false;
        const auto share = [&](Missing missing) {
            return tree_.lent.with(split_leaf(path_).directory, [&] {
                return TempFile::share(tree_.root, path_, unsynced_.shared, attributes_, missing, fresh);
            });
        };
        auto shared = share(whole ? Missing::fail : Missing::create);
        if (whole && !shared) {
            // A new file would have this part only, and the shards that have ended would have to run again.
            const bool stands = tree_.old.has_proven(path_) || (tree_.offer.overwrite != Overwrite::always &&
                                                                tree_.old.is_same(path_, size_, attributes_.mtime));
            named_ = stands && shared.error().system_error == ENOENT;
            if (named_) return JobFile::Opened{.named = true};
            shared = share(Missing::create);
        }
        if (!shared) return shared.error();
        temporary_.emplace(std::move(shared).value());
        struct stat st = {};
        if (const int error = fresh ? 0 : temporary_->look(st); error != 0) {
            return io_error("cannot examine", path_, error);
        }
        if (!fresh) return JobFile::Opened{false, times_of(st)};
        // What an answer has reported is not in a new file.
        tree_.old.forget_partial(path_);
        // Test the name now: the test renames the file for a moment, and later another shard may look for it.
        const auto named = temporary_->try_name(tree_.root);
        return named ? Result<JobFile::Opened>({true}) : named.error();
    };
    return tree_.run.job->begin(version(), open);
}

Result<void> FileBuilder::compare(const Extent& range, std::vector<ProvenPiece> pieces) const {
    const auto bad =
        changed_parts(tree_.root, path_, tree_.offer.hash, {{{range.offset, range.length}, std::move(pieces)}},
                      [this] { return tree_.report.checked(0); });
    if (!bad) return bad.error();
    if (bad->empty()) return {};
    return Error{ErrorCode::refused, "'" + escape_name(path_) +
                                         "' was completed by another shard and differs from what this one sends: run "
                                         "all shards again, and let them compare contents"};
}

void FileBuilder::remove_temporary() {
    if (temporary_ && !part_) temporary_->remove(tree_.root);
}

Result<void> FileBuilder::reserve(std::uint64_t piece) {
    if (named_) return {};
    const bool limited = limits_room(tree_.options);
    // The places of holes are not known in advance.
    if (is_sparse()) return limited ? tree_.find_room(*temporary_, 0, piece) : Result<void>();
    if (!reserved_) {
        reserved_ = 0;
        if (limited || size_ > kPieceBytes) {
            if (auto room = tree_.find_room(*temporary_, size_); !room) return room;
        }
    }
    // For a file of one piece, the write itself shows whether the disk has room.
    if (size_ <= kPieceBytes) return {};
    // Reserve as much again as has arrived: data that is only announced takes no disk space.
    if (*reserved_ >= std::min(size_, arrived_ + kReservedAhead / 2)) return {};
    if (limited) {
        if (auto room = tree_.find_room(*temporary_, arrived_); !room) return room;
    }
    reserved_ = std::min(size_, 2 * arrived_ + kReservedAhead);
    return temporary_->reserve(*reserved_);
}

void FileBuilder::note_written(const ProvenPiece& piece) {
    if (!tree_.journal || named_) return;
    tree_.old.overwritten(path_, piece.offset);
    tree_.journal->wrote(path_, *temporary_, unsynced_, piece);
}

void FileBuilder::note_piece(ProvenPiece piece) {
    const std::uint64_t end = part_ ? part_->offset + part_->length : size_;
    if (piece.offset + piece.length == end) last_ = piece;
    if (part_) part_pieces_.push_back(std::move(piece));
}

Result<void> FileBuilder::complete() {
    // Blocks take more space than bytes, and not every file was checked before.
    if (tree_.options.quota) {
        if (auto room = tree_.find_room(*temporary_, 0); !room) return room;
    }
    bool timed = true;
    auto done = temporary_->complete(size_, attributes_, [&](Belonging what, int error_number) {
        timed = timed && what != Belonging::time;
        tree_.report.lacks(EntryType::file, what, path_, error_number);
    });
    if (!done) return done;
    struct stat st = {};
    if (timed && temporary_->look(st) == 0) {
        tree_.lost_times.look(st, path_, attributes_.mtime);
        had_ = mtime_of(st);
    }
    return {};
}

std::function<Result<bool>(int)> FileBuilder::fill() const {
    if (!part_) return {};
    return [&tree = tree_, version = version(), part = *part_, attributes = attributes_,
            pieces = part_pieces_](int fd) -> Result<bool> {
        if (const auto checked = check_others(tree, version, part); !checked) return checked.error();
        struct stat st = {};
        if (::fstat(fd, &st) != 0) return io_error("cannot examine", version.path, errno);
        const auto whole = tree.run.job->fill(version, part, pieces, times_of(st));
        if (!whole) return whole;
        // If another shard has completed it, this one may have written into it since then, which sets its time.
        if (!*whole && !tree.run.job->has_name(version)) return false;
        const auto done = TempFile::complete(fd, version.path, version.size, attributes, tree.unset_of(version.path));
        if (!done) return done.error();
        const int error = sync_data(fd);
        if (error != 0 && !knows_no_sync(error)) return io_error("cannot write", version.path, error);
        return whole;
    };
}

void FileBuilder::submit() {
    assert(state_ == FileState::committing);
    leave_open_list();
    const std::uint64_t bytes = part_ ? part_->length : size_;
    if (named_) {
        tree_.old.forget(path_);
        tree_.claims.note_kept(path_);
        tree_.unsynced.note(split_leaf(path_).directory);
        tree_.note_own(path_);
        tree_.report.ended(Ended::part, EntryType::file, path_, bytes);
        return tree_.under_way.end(path_);
    }
    CommitOrder order = temporary_->into_commit(index_, bytes, holes_ || is_sparse());
    order.length = size_;
    if (last_) {
        order.proof = FileProof{tree_.offer.hash, std::move(*last_)};
        if (!part_ && !holes_) order.proof->whole = end_->digest;
        if (part_) {
            order.proof->pieces = [job = tree_.run.job, version = version()] {
                return job->claimed(version, {0, version.size});
            };
        }
    }
    order.fill = fill();
    order.time = attributes_.mtime;
    order.had = had_;
    // Only the sender knows where the holes of a file were.
    if (tree_.journal && !holes_ && !part_) {
        order.done = record::Done{
            .path_key = path_key(path_), .size = size_, .mtime = attributes_.mtime, .digest = end_->digest};
    }
    if (tree_.journal) order.unproven = unsynced_.journaled ? unsynced_.bytes : bytes;
    tree_.old.forget(path_);
    tree_.submit(std::move(order), replaces_directory_);
}

Result<bool> FileBuilder::end_kept() {
    // A file that must not be overwritten also keeps its mode, owner and attributes.
    if (tree_.old.must_stay(path_)) return false;
    const auto proven = tree_.old.proven_file(path_, size_);
    // It was counted when it was answered for, except with a receipt.
    if (!proven && tree_.old.is_same(path_, size_, attributes_.mtime)) {
        if (tree_.options.receipt) tree_.note_unchanged(EntryType::file, path_);
        return true;
    }
    const auto refreshed = proven ? refresh(proven->st) : Result<void>(not_as_said(path_));
    if (!refreshed) return refreshed.error();
    tree_.claims.note_kept(path_);
    if (!proven->delivered) {
        tree_.note_unchanged(EntryType::file, path_);
    } else {
        tree_.unsynced.note(split_leaf(path_).directory);
        tree_.note_own(path_);
        tree_.report.kept(size_);
        tree_.report.ended(Ended::kept, EntryType::file, path_, size_);
    }
    return true;
}

Result<void> FileBuilder::refresh(const struct stat& proven) {
    struct stat st = {};
    auto [fd, error] = tree_.root.open_at(path_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error != 0) return io_error("cannot examine", path_, error);
    if (!same_content(proven, st)) return changed_here(path_);
    Change change;
    if (attributes_.exact_mode) change.mode = attributes_.mode;
    change.mtime = attributes_.mtime;
    if (!tree_.shared.differs(path_, fd.get(), st, change)) return {};
    if (st.st_nlink <= 1) {
        tree_.shared.set(EntryType::file, path_, fd.get(), st, change);
    } else {
        change.proven = proven;
        tree_.shared.defer(path_, std::move(change));
    }
    return {};
}

void FileBuilder::forget() {
    // The sender may have begun the file before it knew that it exists.
    remove_temporary();
    state_.enter(FileState::gone);
    tree_.old.forget(path_);
    tree_.under_way.end(path_);
}

void FileBuilder::fail(const Error& error) {
    go_on();
    // The disk may have room at the next run. Any other error would occur again.
    const bool leave = error.code == ErrorCode::file_io && may_continue();
    if (temporary_ && !leave) {
        remove_temporary();
        if (tree_.journal) tree_.journal->gone(path_);
    }
    state_.enter(FileState::gone);
    tree_.old.forget(path_);
    tree_.under_way.end(path_);
    tree_.fail(index_, path_, error);
}

void FileBuilder::abandon() {
    go_on();
    if (!may_continue()) remove_temporary();
    state_.enter(FileState::gone);
}

bool FileBuilder::may_continue() {
    if (!tree_.journal || !temporary_) return false;
    const bool recorded = tree_.journal->leave(path_, *temporary_, unsynced_);
    if (!recorded && !tree_.old.has_partial(path_)) return false;
    if (!part_ && reserved_.value_or(0) > 0) temporary_->give_back_space(tree_.root);
    if (!part_) return true;
    // This run writes no more into the file that other shards fill too.
    const UniqueFd fd = temporary_->open_again(tree_.root);
    struct stat st = {};
    if (fd && ::fstat(fd.get(), &st) == 0) tree_.run.job->leave(version(), times_of(st));
    return true;
}

}  // namespace udtx::transfer
