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

// Of the files that are asked about ahead: the receiver hashes those that changed, and has to remember it.
constexpr std::uint64_t kAskAheadBytes = 64ULL << 30U;
// Pieces compared in one go, so that others get their turn.
constexpr std::size_t kKeptAtOnce = 16;

}  // namespace

void SourceReader::look_ahead(std::size_t most) {
    while (waiting_.size() < most && waiting_bytes_ < kAskAheadBytes) {
        auto entry = scanned_.try_pop();
        if (!entry) return;
        look_at(std::move(*entry));
    }
}

void SourceReader::note_unsent(std::string path) {
    unsent_bytes_ += path.size() + 2;
    if (unsent_bytes_ > kMaxListedPathBytes || unsent_.paths.size() == kMaxListItems) {
        flush_unsent();
        unsent_bytes_ = path.size() + 2;
    }
    unsent_.paths.push_back(std::move(path));
}

void SourceReader::flush_unsent() {
    if (!unsent_.paths.empty()) packer_.message(std::exchange(unsent_, {}));
    unsent_bytes_ = 0;
}

void SourceReader::look_at(ScannedEntry entry) {
    if (entry.unsent) return note_unsent(std::move(entry.path));
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
    query.has_attributes = fd && read_attributes(fd.get(), attributes).none();
    query.attributes = attributes_key(std::move(attributes));
}

bool SourceReader::knows_answer(std::optional<std::uint64_t> query) {
    if (!decided_) {
        look_ahead(kAskEarly);
        take_decision();
    }
    return decided_ && (!active_ || !query || answers_.answered(*query));
}

void SourceReader::take_decision() {
    const auto decision = answers_.decision();
    decided_ = decision.has_value();
    active_ = decision.value_or(false);
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

bool SourceReader::may_be_same(const OpenFile& file) {
    return file.holding.has == Holding::all_pieces &&
           static_cast<std::uint64_t>(file.before.st_size) == file.entry.size;
}

void SourceReader::compare_more(OpenFile& file) {
    const auto size = static_cast<std::uint64_t>(file.before.st_size);
    if (file.same_until >= size) return end_comparing(file, true);
    const std::uint64_t length = piece_length(file.same_until, size - file.same_until);
    const auto there = file.holding.pieces.find(file.same_until);
    const bool same = there != file.holding.pieces.end() && there->second.length == length &&
                      digest_of_source(file, file.same_until, length) == there->second.digest;
    if (!same) return end_comparing(file, false);
    file.same_until += length;
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += length; });
}

void SourceReader::end_comparing(OpenFile& file, bool same) {
    const auto why = std::exchange(file.compare, OpenFile::Compare::not_now);
    if (why == OpenFile::Compare::after_first_piece) {
        if (same) return end_file(FileStatus::kept);
        return forget_compared(file);
    }
    if (why == OpenFile::Compare::before_entry && !same) return announce(file);
    const std::unique_ptr<OpenFile> closed = std::move(file_);
    if (why == OpenFile::Compare::before_entry) {
        note_standing(closed->entry);
        return send_kept(closed->entry, Holding::all_pieces);
    }
    std::uint8_t changes = closed->holding.changes;
    if (!same) {
        changes |= change::kContent;
        return plan_changed(closed->entry, changes);
    }
    count_unsent(closed->entry);
    plan(PlannedEntry::Kind::unchanged, closed->entry, changes);
}

void SourceReader::forget_compared(OpenFile& file) {
    // What was sent before is not kept.
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept -= std::min(file.same_until, file.sent); });
}

void SourceReader::plan_unread(const ScannedEntry& entry, const RemoteHolding& holding) {
    using Kind = PlannedEntry::Kind;
    const Holding has = holding.has;
    if (has == Holding::blocked) return;
    if (has == Holding::exists) return plan(Kind::skip, entry, 0);
    // The other name of a file that is replaced stays with what it was.
    const bool stale = entry.type == EntryType::hard_link && planned_.count(path_key(entry.target)) > 0;
    if (has == Holding::same && !stale) return plan(Kind::unchanged, entry, holding.changes);
    plan(Kind::make, entry, stale && has == Holding::same ? change::kContent : holding.changes);
}

void SourceReader::plan_file(ScannedEntry entry, RemoteHolding holding) {
    std::uint8_t changes = holding.changes;
    if (holding.has == Holding::all_pieces) {
        int error = 0;
        UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, error);
        struct stat st = {};
        if (fd && ::fstat(fd.get(), &st) == 0) {
            FileDigest digest(options_.hash, entry.size);
            file_.reset(
                new OpenFile{std::move(entry), std::move(fd), st, false, std::move(digest), std::move(holding)});
            file_->compare = OpenFile::Compare::for_plan;
            return may_be_same(*file_) ? void() : end_comparing(*file_, false);
        }
        changes |= change::kContent;
    }
    plan_changed(entry, changes);
}

void SourceReader::plan_changed(const ScannedEntry& entry, std::uint8_t changes) {
    if (options_.hard_links) planned_.insert(path_key(entry.path));
    plan((changes & change::kNew) != 0 ? PlannedEntry::Kind::send : PlannedEntry::Kind::update, entry, changes);
}

bool SourceReader::may_begin(const Candidate& candidate) const {
    return !decided_ && candidate.query && !options_.dry_run && candidate.entry.size > kPieceBytes;
}

FileStatus SourceReader::learn_holding(OpenFile& file) {
    const std::uint64_t query = *std::exchange(file.query, std::nullopt);
    if (!active_) return FileStatus::ok;
    file.holding = answers_.take(query);
    const Holding has = file.holding.has;
    if (has == Holding::exists || has == Holding::blocked) return FileStatus::skipped;
    if (has == Holding::same || has == Holding::file) return FileStatus::kept;
    if (may_be_same(file)) {
        file.compare = OpenFile::Compare::after_first_piece;
    } else {
        forget_compared(file);
    }
    return FileStatus::ok;
}

void SourceReader::send_range(OpenFile& file) {
    Extent& range = file.range;
    const std::uint64_t kept = send_kept_run(file, range);
    const std::uint64_t first = file.query ? piece_length(range.offset, range.length) : range.length;
    const std::uint64_t fresh = kept > 0 ? 0 : fresh_run(file, {range.offset, first});
    if (fresh > 0) {
        packer_.message(message::Extents{file.index, {{range.offset, fresh}}});
        will_send(file, {range.offset, fresh});
    }
    range.offset += kept + fresh;
    range.length -= kept + fresh;
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
    while (done < range.length && run.size() < kKeptAtOnce) {
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
