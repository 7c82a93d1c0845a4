// The part of the tree writer that continues what an earlier run left, and leaves something for a later one.
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "transfer/file_io.hpp"
#include "transfer/names.hpp"
#include "transfer/tree_writer.hpp"

namespace udtx::transfer {

void TreeWriter::answer(const message::Query& query, const ReceiveResume::Reply& reply) {
    if (resume_ && check_path(query.path)) return resume_->answer(query, reply);
    reply({query.number, Holding::nothing, 0, {}});
}

void TreeWriter::keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal) {
    const auto at = files_.find(index);
    if (at == files_.end()) return;
    OpenFile& file = at->second;
    if (auto open = ensure_open(index, file); !open) return drop(index, open.error());
    std::uint64_t ordinal = first_ordinal;
    for (std::uint64_t done = 0; done < extent.length; ++ordinal) {
        const Extent piece{extent.offset + done, piece_length(extent.offset + done, extent.length - done)};
        const auto digest = resume_ ? resume_->proven(file.path, piece) : std::nullopt;
        if (!digest) {
            return drop(index, {ErrorCode::protocol, "'" + escape_name(file.path) + "': the sender left out a piece"});
        }
        file.verifier.computed(ordinal, piece.offset, piece.length, *digest);
        done += piece.length;
    }
    callbacks_.kept(extent.length);
    settle_if_complete(index, file);
}

void TreeWriter::make_hole(std::uint64_t index, const Extent& extent) {
    const auto at = files_.find(index);
    if (at == files_.end()) return;
    OpenFile& file = at->second;
    file.holes = true;
    // A new file has nothing there anyway.
    if (!resume_ || !(file.file || resume_->has_partial(file.path))) return;
    auto made = ensure_open(index, file);
    if (made) made = file.file->clear(extent.offset, extent.length);
    if (!made) drop(index, made.error());
}

void TreeWriter::end_kept(std::uint64_t index) {
    OpenFile& file = files_.at(index);
    if (!resume_ || !resume_->proven_file(file.path, file.size)) {
        return drop(index, {ErrorCode::protocol, "'" + escape_name(file.path) + "': the sender left out the file"});
    }
    if (file.attributes.set_mtime) {
        int error = 0;
        const UniqueFd fd = root_.open_at(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error);
        if (fd && ::fchmod(fd.get(), static_cast<mode_t>(file.attributes.mode & 0777U)) != 0) error = errno;
        if (error == 0) error = set_file_time(fd.get(), file.attributes.mtime_ns);
        if (error != 0) return drop(index, io_error("cannot set mode and time of", file.path, error));
    }
    // Begun before the sender knew.
    if (file.file) file.file->remove(root_);
    open_files_.forget(index);
    SplitName split = split_leaf(file.path);
    Commit commit;
    commit.index = index;
    commit.directory = std::move(split.directory);
    commit.name = std::move(split.leaf);
    commit.size = file.size;
    callbacks_.kept(file.size);
    files_.erase(index);
    callbacks_.delivered(commit);
}

std::optional<record::Done> TreeWriter::done_record(const OpenFile& file) const {
    // Where the holes of a file were, only the sender knows.
    if (!resume_ || file.holes) return std::nullopt;
    return record::Done{path_key(file.path), file.size, file.attributes.mtime_ns, file.end->digest};
}

bool TreeWriter::may_continue(OpenFile& file) {
    return resume_ && file.file && resume_->leave(file.path, *file.file, file.unsynced);
}

void TreeWriter::close_journal(bool complete) {
    if (!resume_ || std::exchange(journal_closed_, true)) return;
    resume_->close(complete && !failed_here_);
}

}  // namespace udtx::transfer
