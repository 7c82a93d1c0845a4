// The part of the source reader that leaves out what the receiver has from an earlier run.
#include <algorithm>
#include <utility>

#include "transfer/file_io.hpp"
#include "transfer/names.hpp"
#include "transfer/piece_map.hpp"
#include "transfer/source_file.hpp"
#include "transfer/source_reader.hpp"

namespace udtx::transfer {

namespace {

// So much is sent before the receiver has said whether it has something: on a long path the slow start takes longer for
// it than the answer.
constexpr std::uint64_t kBeforeDecision = 4U << 20U;
// Files asked about and not yet answered: enough for a long path, little enough to hold.
constexpr std::size_t kAskAhead = 4096;

}  // namespace

std::optional<SourceReader::Candidate> SourceReader::next() {
    const std::size_t ahead = active_ ? kAskAhead : 1;
    while (waiting_.size() < ahead) {
        auto entry = scanned_.try_pop();
        if (!entry) break;
        look_at(std::move(*entry));
    }
    if (waiting_.empty()) {
        packer_.flush();
        auto entry = scanned_.pop();
        if (!entry) return std::nullopt;
        look_at(std::move(*entry));
    }
    Candidate first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
}

void SourceReader::look_at(ScannedEntry entry) {
    std::optional<std::uint64_t> query;
    if (active_ && entry.type == EntryType::file) query = ask(entry);
    waiting_.push_back({std::move(entry), query});
}

std::uint64_t SourceReader::ask(const ScannedEntry& entry) {
    const std::uint64_t number = answers_->ask();
    packer_.message(message::Query{number, split_path(entry.path), entry.size, entry.mtime_ns});
    return number;
}

RemoteHolding SourceReader::wait_for_answer(std::uint64_t query) {
    if (!answers_->answered(query)) packer_.flush();
    return answers_->take(query);
}

void SourceReader::learn_decision() {
    if (decided_) return;
    auto decision = answers_->decision();
    if (!decision && data_bytes_ >= kBeforeDecision) {
        packer_.flush();
        decision = answers_->wait_for_decision();
    }
    if (!decision) return;
    decided_ = true;
    active_ = *decision;
}

RemoteHolding SourceReader::holding_of(const Candidate& candidate) {
    learn_decision();
    if (candidate.query) return wait_for_answer(*candidate.query);
    return active_ ? wait_for_answer(ask(candidate.entry)) : RemoteHolding();
}

bool SourceReader::may_be_whole(std::uint64_t size) const {
    return decided_ || (data_bytes_ < kBeforeDecision && size <= kBeforeDecision - data_bytes_);
}

void SourceReader::send_kept(const ScannedEntry& entry) {
    message::Entry m;
    m.index = next_index_++;
    m.path = split_path(entry.path);
    m.mode = entry.mode;
    m.mtime_ns = entry.mtime_ns;
    m.size = entry.size;
    packer_.message(std::move(m));
    packer_.message(message::FileEnd{next_index_ - 1, FileStatus::kept, {}});
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total -= entry.data_bytes; });
    count_kept(entry.size);
}

void SourceReader::count_kept(std::uint64_t bytes) {
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.bytes_kept += bytes;
        outcome.kept_bytes += bytes;
    });
}

FileStatus SourceReader::send_range(OpenFile& file, Extent range) {
    while (range.length > 0 && !packer_.stopped()) {
        if (!decided_) {
            learn_decision();
            // The file was begun before its receiver had said anything.
            if (active_) file.holding = wait_for_answer(ask(file.entry));
            if (file.holding.file) return FileStatus::kept;
        }
        const std::uint64_t kept = send_kept_run(file, range);
        const std::uint64_t fresh = kept > 0 ? 0 : fresh_run(file, range);
        if (fresh > 0) {
            packer_.message(message::Extents{file.index, {{range.offset, fresh}}});
            if (const FileStatus status = send_extent(file, {range.offset, fresh}); status != FileStatus::ok)
                return status;
        }
        range.offset += kept + fresh;
        range.length -= kept + fresh;
    }
    return FileStatus::ok;
}

std::uint64_t SourceReader::fresh_run(const OpenFile& file, const Extent& range) const {
    std::uint64_t length = piece_length(range.offset, range.length);
    const std::uint64_t early = kBeforeDecision - std::min(data_bytes_, kBeforeDecision);
    const std::uint64_t most = decided_ ? range.length : std::min(range.length, early);
    if (decided_ && file.holding.pieces.empty()) return most;
    while (length < most && file.holding.pieces.count(range.offset + length) == 0) {
        length += piece_length(range.offset + length, range.length - length);
    }
    return length;
}

std::uint64_t SourceReader::send_kept_run(OpenFile& file, const Extent& range) {
    std::vector<ProvenPiece> run;
    std::uint64_t done = 0;
    while (done < range.length && run.size() < kMaxListItems) {
        const std::uint64_t offset = range.offset + done;
        const std::uint64_t length = piece_length(offset, range.length - done);
        const auto there = file.holding.pieces.find(offset);
        if (there == file.holding.pieces.end()) break;
        const bool same =
            there->second.length == length && digest_of_source(file, offset, length) == there->second.digest;
        if (same) run.push_back(there->second);
        file.holding.pieces.erase(there);
        if (!same) break;
        done += length;
    }
    if (run.empty()) return 0;
    packer_.message(message::Kept{file.index, {{range.offset, done}}});
    for (const ProvenPiece& piece : run) {
        file.digest.add(piece.offset, piece.length, piece.digest);
        add_digest(file, piece.digest);
    }
    count_kept(done);
    return done;
}

Digest SourceReader::digest_of_source(const OpenFile& file, std::uint64_t offset, std::uint64_t length) {
    block_.resize(kPieceBytes);
    const auto room = std::span(block_).first(static_cast<std::size_t>(length));
    std::size_t count = 0;
    // A piece that cannot be read is met once more when it is to be sent.
    if (read_all_at(file.fd.get(), room, offset, count) != 0 || count != length) return {};
    piece_hasher_.reset();
    piece_hasher_.update(room);
    return piece_hasher_.finish();
}

}  // namespace udtx::transfer
