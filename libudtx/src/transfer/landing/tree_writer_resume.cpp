// The part of the tree writer that continues what an earlier run left, and leaves something for a later one.
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/landing/clear_way.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

void TreeWriter::answer(const message::Query& query, const ReceiveResume::Reply& reply) {
    if (!check_path(query.path)) return reply({query.number, Holding::nothing, 0, {}});
    const std::string path = join_path(query.path);
    if (eraser_) eraser_->keep(path, false);
    auto free = claims_.take(path);
    if (!free && basis_.is_same(path, query.size, query.mtime)) free = claims_.take(path, EntryClaims::For::keeping);
    if (!free) {
        together_.insert(path_key(path));
        fail(kNoEntry, path, free.error());
        return reply({query.number, Holding::blocked, 0, {}});
    }
    const bool must_stay = basis_.must_stay(path);
    // What --delete has to take away first, it takes when the file has come.
    if (!must_stay && !eraser_ && basis_.is_directory(path)) {
        if (const auto way = clear_way(root_, path, nullptr); !way) {
            fail(kNoEntry, path, way.error());
            return reply({query.number, Holding::blocked, 0, {}});
        }
    }
    // What was put there meanwhile is not sent again for what an earlier run left of it.
    const bool stands = resume_ && resume_->has_partial(path) && options_.overwrite != Overwrite::always &&
                        basis_.is_same(path, query.size, query.mtime);
    const bool known = resume_ && !must_stay && !stands && resume_->knows(path, query);
    // What came then is to stay: a name that reads otherwise must not have it for looking the same.
    if (known && resume_->knows_whole(path, query)) claims_.note_kept(path);
    if (known) return resume_->answer(query, reply);
    const auto has = basis_.answer(query, reply);
    if (has == Holding::same || has == Holding::exists) claims_.note_kept(path);
    if (has == Holding::same) note_unchanged(EntryType::file, path);
    if (has == Holding::exists) callbacks_.skipped(EntryType::file);
}

bool TreeWriter::go_on_answering(const ReceiveResume::Reply& reply) {
    return (resume_ && resume_->go_on(reply)) || basis_.go_on(reply);
}

Result<void> TreeWriter::keep_piece(OpenFile& file, const Extent& piece, std::uint64_t ordinal) {
    auto digest = resume_ ? resume_->proven(file.path, piece) : std::nullopt;
    if (!digest) {
        digest = basis_.proven(file.path, piece);
        if (!digest) {
            return Error{ErrorCode::protocol, "'" + escape_name(file.path) + "': the sender left out a piece"};
        }
        if (auto copied = basis_.copy(file.path, piece, *file.file); !copied) return copied;
        if (resume_) resume_->wrote(file.path, *file.file, file.unsynced, {piece.offset, piece.length, *digest});
    }
    file.verifier.computed(ordinal, piece.offset, piece.length, *digest);
    return {};
}

void TreeWriter::keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal) {
    const auto at = files_.find(index);
    if (at == files_.end()) return;
    OpenFile& file = at->second;
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
    callbacks_.kept(extent.length);
    settle_if_complete(index, file);
}

void TreeWriter::make_hole(std::uint64_t index, const Extent& extent) {
    const auto at = files_.find(index);
    if (at == files_.end()) return;
    OpenFile& file = at->second;
    file.holes = true;
    // A new file has nothing there, unless an older version is going to be taken over.
    const bool old = basis_.knows(file.path) || (file.file && file.file->has_old_content()) ||
                     (resume_ && resume_->has_partial(file.path));
    if (!old) return;
    auto made = ensure_open(index, file);
    if (made) made = file.file->clear(extent.offset, extent.length);
    if (!made) drop(index, made.error());
}

void TreeWriter::end_kept(std::uint64_t index) {
    OpenFile& file = files_.at(index);
    // What is not to be overwritten keeps its mode, owner and attributes, too.
    if (basis_.must_stay(file.path)) return forget(index);
    const bool resumed = resume_ && resume_->proven_file(file.path, file.size);
    const bool proven = resumed || basis_.proven_file(file.path, file.size);
    // Counted when it was answered for.
    if (!proven && basis_.is_same(file.path, file.size, file.attributes.mtime)) {
        latest_kept_ = file.path;
        return forget(index);
    }
    if (!proven) {
        return drop(index, {ErrorCode::protocol, "'" + escape_name(file.path) + "': the sender left out the file"});
    }
    int error = 0;
    const UniqueFd fd = root_.open_at(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error);
    if (!fd) return drop(index, io_error("cannot look at", file.path, error));
    const OnUnset unset = unset_of(file.path);
    error = file.attributes.exact_mode ? set_mode(fd.get(), file.attributes.mode) : 0;
    if (error != 0) unset(Belonging::mode, error);
    error = set_file_time(fd.get(), file.attributes.mtime);
    if (error != 0) {
        unset(Belonging::time, error);
    } else {
        lost_times_.look(fd.get(), file.path, file.attributes.mtime);
    }
    latest_kept_ = file.path;
    claims_.note_kept(file.path);
    SplitName split = split_leaf(file.path);
    Commit commit;
    commit.index = index;
    commit.directory = std::move(split.directory);
    commit.name = std::move(split.leaf);
    commit.size = file.size;
    forget(index);
    if (!resumed) return note_unchanged(EntryType::file, commit.path());
    unsynced_.note(commit.directory);
    note_own(commit.path());
    commit.kept = true;
    callbacks_.kept(commit.size);
    callbacks_.delivered(commit);
}

void TreeWriter::forget(std::uint64_t index) {
    auto node = files_.extract(index);
    OpenFile& file = node.mapped();
    // Begun before the sender knew.
    if (file.file) file.file->remove(root_);
    open_files_.forget(index);
    basis_.forget(file.path);
    under_way_.end(file.path);
}

std::optional<record::Done> TreeWriter::done_record(const OpenFile& file) const {
    // Where the holes of a file were, only the sender knows.
    if (!resume_ || file.holes) return std::nullopt;
    return record::Done{path_key(file.path), file.size, file.attributes.mtime, file.end->digest};
}

bool TreeWriter::may_continue(OpenFile& file) {
    return resume_ && file.file && resume_->leave(file.path, *file.file, file.unsynced);
}

void TreeWriter::close_journal(bool complete) {
    if (!resume_ || std::exchange(journal_closed_, true)) return;
    resume_->close(complete && !failed_here_);
}

}  // namespace udtx::transfer
