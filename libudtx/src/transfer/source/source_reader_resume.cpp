// The part of the source reader that leaves out what the receiver has from an earlier run.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "transfer/file/attributes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"
#include "transfer/pieces/piece_map.hpp"
#include "transfer/source/source_file.hpp"
#include "transfer/source/source_reader.hpp"

namespace udtx::transfer {

namespace {

// Files asked about before the receiver has said whether it has anything: about as much as the first round trip takes,
// so that asking opens the window as data would.
constexpr std::size_t kAskEarly = 256;
// Files asked about and not yet answered: with a tenth of a second there and back, 160,000 of them a second.
constexpr std::size_t kAskAhead = 16384;
// Of the files that are asked about ahead: the receiver hashes those that changed, and has to remember it.
constexpr std::uint64_t kAskAheadBytes = 64ULL << 30U;
// On a short path the receiver has spoken by then, and nothing is sent in vain.
constexpr auto kBeforeBeginning = std::chrono::milliseconds(20);
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);

}  // namespace

std::optional<SourceReader::Candidate> SourceReader::next() {
    look_ahead(active_ ? kAskAhead : decided_ ? 1 : kAskEarly);
    if (waiting_.empty()) {
        packer_.flush();
        auto entry = scanned_.pop();
        if (!entry) return std::nullopt;
        look_at(std::move(*entry));
    }
    Candidate first = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= first.entry.size;
    return first;
}

void SourceReader::look_ahead(std::size_t most) {
    while (waiting_.size() < most && waiting_bytes_ < kAskAheadBytes) {
        auto entry = scanned_.try_pop();
        if (!entry) return;
        look_at(std::move(*entry));
    }
}

void SourceReader::look_at(ScannedEntry entry) {
    std::optional<std::uint64_t> query;
    const bool file = entry.type == EntryType::file;
    // In a dry run the receiver is told what it is asked about; nothing else comes of it.
    if (options_.dry_run && !file) announce_unread(entry);
    if ((active_ || !decided_) && (file || options_.dry_run)) query = ask(entry);
    waiting_bytes_ += entry.size;
    waiting_.push_back({std::move(entry), query});
}

std::uint64_t SourceReader::ask(const ScannedEntry& entry) {
    const std::uint64_t number = answers_.ask();
    message::Query query{number, split_path(entry.path), entry.size, entry.mtime, entry.mode};
    if (options_.dry_run) add_belongings(entry, query);
    packer_.message(std::move(query));
    return number;
}

void SourceReader::add_belongings(const ScannedEntry& entry, message::Query& query) {
    const bool directory = entry.type == EntryType::directory;
    if (!directory && entry.type != EntryType::file) return;
    query.has_owner = options_.owner;
    query.user = entry.user;
    query.group = entry.group;
    if (!options_.attributes) return;
    int ignored = 0;
    const UniqueFd fd =
        roots_[entry.root].directory.open_at(entry.path, directory ? O_RDONLY | O_DIRECTORY : O_RDONLY, 0, ignored);
    std::vector<message::Attribute> attributes;
    query.has_attributes = fd && read_attributes(fd.get(), attributes).empty();
    query.attributes = attributes_key(std::move(attributes));
}

RemoteHolding SourceReader::wait_for_answer(std::uint64_t query) {
    if (!answers_.answered(query)) packer_.flush();
    return answers_.take(query);
}

void SourceReader::learn_decision() {
    while (!decided_) look_for_decision();
}

void SourceReader::look_for_decision() {
    look_ahead(kAskEarly);
    packer_.flush();
    take_decision(kBetweenLooks);
}

void SourceReader::take_decision(std::chrono::milliseconds at_most) {
    const auto decision = answers_.wait_for_decision(at_most);
    decided_ = decision.has_value();
    active_ = decision.value_or(false);
}

RemoteHolding SourceReader::holding_of(const Candidate& candidate) {
    learn_decision();
    if (!active_) return {Holding::nothing, {}, change::kNew};
    return wait_for_answer(candidate.query ? *candidate.query : ask(candidate.entry));
}

void SourceReader::count_unsent(const ScannedEntry& entry) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total -= entry.data_bytes; });
}

void SourceReader::send_kept(const ScannedEntry& entry, Holding has) {
    message::Entry m;
    m.index = next_index_++;
    m.path = split_path(entry.path);
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.size = entry.size;
    packer_.message(std::move(m));
    packer_.message(message::FileEnd{next_index_ - 1, FileStatus::kept, {}});
    if (options_.owner || options_.attributes) {
        int ignored = 0;
        const UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, ignored);
        if (fd) send_meta(entry, fd.get(), Others::go);
    }
    count_unsent(entry);
    if (has != Holding::file) return;
    count_kept(entry.size, 0);
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.kept_files;
        outcome.kept_file_bytes += entry.size;
    });
}

void SourceReader::count_kept(std::uint64_t bytes, std::uint64_t counted) {
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.bytes_kept += bytes - counted;
        outcome.kept_bytes += bytes;
    });
}

bool SourceReader::same_content(OpenFile& file) {
    const auto size = static_cast<std::uint64_t>(file.before.st_size);
    if (file.holding.has != Holding::all_pieces || size != file.entry.size) return false;
    while (file.same_until < size) {
        const std::uint64_t length = piece_length(file.same_until, size - file.same_until);
        const auto there = file.holding.pieces.find(file.same_until);
        const bool same = there != file.holding.pieces.end() && there->second.length == length &&
                          digest_of_source(file, file.same_until, length) == there->second.digest;
        if (!same || packer_.stopped()) return false;
        file.same_until += length;
        report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += length; });
    }
    return true;
}

void SourceReader::plan_unread(const Candidate& candidate) {
    using Kind = PlannedEntry::Kind;
    const ScannedEntry& entry = candidate.entry;
    const RemoteHolding holding = holding_of(candidate);
    const Holding has = holding.has;
    if (has == Holding::blocked) return;
    if (has == Holding::exists) return plan(Kind::skip, entry, 0);
    // The other name of a file that is replaced stays with what it was.
    const bool stale = entry.type == EntryType::hard_link && planned_.count(path_key(entry.target)) > 0;
    if (has == Holding::same && !stale) return plan(Kind::unchanged, entry, holding.changes);
    plan(Kind::make, entry, stale && has == Holding::same ? change::kContent : holding.changes);
}

void SourceReader::plan_file(const ScannedEntry& entry, RemoteHolding holding) {
    std::uint8_t changes = holding.changes;
    const bool compared = holding.has == Holding::all_pieces;
    if (holding.has == Holding::all_pieces) {
        int error = 0;
        OpenFile file{entry,
                      roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, error),
                      0,
                      {},
                      false,
                      FileDigest(options_.hash, entry.size),
                      std::move(holding)};
        if (file.fd && ::fstat(file.fd.get(), &file.before) == 0 && same_content(file)) {
            count_unsent(entry);
            return plan(PlannedEntry::Kind::unchanged, entry, changes);
        }
    }
    if (options_.hard_links) planned_.insert(path_key(entry.path));
    if (compared) changes |= change::kContent;
    plan((changes & change::kNew) != 0 ? PlannedEntry::Kind::send : PlannedEntry::Kind::update, entry, changes);
}

bool SourceReader::may_begin(const Candidate& candidate) {
    if (decided_ || !candidate.query || options_.dry_run || candidate.entry.size <= kPieceBytes) return false;
    const auto until = std::chrono::steady_clock::now() + kBeforeBeginning;
    while (!decided_ && std::chrono::steady_clock::now() < until) look_for_decision();
    return !decided_;
}

FileStatus SourceReader::learn_holding(OpenFile& file) {
    learn_decision();
    const std::uint64_t query = *std::exchange(file.query, std::nullopt);
    if (!active_) return FileStatus::ok;
    file.holding = wait_for_answer(query);
    const Holding has = file.holding.has;
    if (has == Holding::exists || has == Holding::blocked) return FileStatus::skipped;
    if (has == Holding::same || has == Holding::file || same_content(file)) return FileStatus::kept;
    // What was sent before is not kept.
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept -= std::min(file.same_until, file.sent); });
    return FileStatus::ok;
}

FileStatus SourceReader::send_range(OpenFile& file, Extent range) {
    while (range.length > 0 && !packer_.stopped()) {
        if (file.query && file.sent > 0) {
            if (const FileStatus status = learn_holding(file); status != FileStatus::ok) return status;
        }
        const std::uint64_t kept = send_kept_run(file, range);
        const std::uint64_t first = file.query ? piece_length(range.offset, range.length) : range.length;
        const std::uint64_t fresh = kept > 0 ? 0 : fresh_run(file, {range.offset, first});
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
    if (file.holding.pieces.empty()) return range.length;
    std::uint64_t length = piece_length(range.offset, range.length);
    while (length < range.length && file.holding.pieces.count(range.offset + length) == 0) {
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
        const bool same = there->second.length == length &&
                          (offset < file.same_until || digest_of_source(file, offset, length) == there->second.digest);
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
    count_kept(done, std::min(done, file.same_until - std::min(file.same_until, range.offset)));
    return done;
}

Digest SourceReader::digest_of_source(const OpenFile& file, std::uint64_t offset, std::uint64_t length) {
    if (!block_) block_ = make_page_block(kPieceBytes);
    const auto room = std::span(block_.get(), static_cast<std::size_t>(length));
    std::size_t count = 0;
    // A piece that cannot be read is met once more when it is to be sent.
    if (read_all_at(file.fd.get(), room, offset, count) != 0 || count != length) return {};
    piece_hasher_.reset();
    piece_hasher_.update(room);
    return piece_hasher_.finish();
}

}  // namespace udtx::transfer
