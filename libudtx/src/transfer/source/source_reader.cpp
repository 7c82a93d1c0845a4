#include "transfer/source/source_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"
#include "transfer/names.hpp"
#include "transfer/pieces/piece_map.hpp"
#include "transfer/source/extent_cursor.hpp"
#include "transfer/source/source_file.hpp"

namespace udtx::transfer {

namespace {

// Enough digests for a message to be worth its header, few enough for the receiver to verify while data flows.
constexpr std::size_t kDigestsPerMessage = 64;
// Small files are gathered up to so many bytes before the protocol thread is woken.
constexpr std::size_t kEagerBytes = 256U << 10U;
// Pieces compared in one go, so that others get their turn.
constexpr std::size_t kKeptAtOnce = 16;
// On a short path the receiver has spoken by then, and nothing is sent in vain.
constexpr auto kBeforeBeginning = std::chrono::milliseconds(20);

bool same_version(const struct stat& a, const struct stat& b) {
    // Of one descriptor: an inode number that changes meanwhile, as FUSE may have it, says nothing.
    return a.st_size == b.st_size && mtime_of(a) == mtime_of(b);
}

}  // namespace

SourceReader::SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned,
                           OutgoingQueue& out, LateWaker& waker, JobReport& report, ResumeAnswers& answers)
    : roots_(roots),
      options_(std::move(options)),
      report_(report),
      answers_(answers),
      packer_(out, waker),
      announcer_(roots_, options_, packer_, report_),
      plan_(options_, packer_, report_),
      inquiries_(options_, scanned, packer_, announcer_, answers_),
      piece_hasher_(options_.hash),
      root_(options_.hash) {}

SourceReader::~SourceReader() = default;

DiskStep SourceReader::step() {
    const DiskSlice slice;
    if (!std::exchange(begun_, true)) {
        for (message::Rules& rules : options_.rules) packer_.message(std::move(rules));
        inquiries_.take_decision();
        if (options_.tops) send_top();
    }
    for (;;) {
        if (packer_.closed()) return DiskStep::over();
        if (packer_.full()) return DiskStep::rest();
        if (slice.over()) return DiskStep::again();
        if (const Wait wait = go_on()) return *wait;
        if (!file_ && packer_.pending() >= kEagerBytes) packer_.flush();
    }
}

SourceReader::Wait SourceReader::go_on() {
    if (file_) return send_more(*file_);
    if (!candidate_) {
        if (const Wait wait = take_next()) return wait;
    }
    if (const Wait wait = wait_to_send()) {
        packer_.flush();
        return wait;
    }
    Candidate candidate = std::move(*candidate_);
    candidate_.reset();
    send(std::move(candidate));
    return std::nullopt;
}

SourceReader::Wait SourceReader::take_next() {
    candidate_ = inquiries_.next();
    if (!candidate_) {
        if (!inquiries_.over()) {
            packer_.flush();
            return DiskStep::rest();
        }
        finish();
        return DiskStep::over();
    }
    met_ = std::chrono::steady_clock::now();
    meet(candidate_->entry);
    return std::nullopt;
}

void SourceReader::meet(const ScannedEntry& entry) {
    announcer_.meet(entry);
    if (entry.type != EntryType::file || !sent_earlier(entry)) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.files;
        outcome.sent_earlier.bytes += entry.size;
    });
}

SourceReader::Wait SourceReader::wait_to_send() {
    const Candidate& next = *candidate_;
    if (next.entry.type != EntryType::file && !options_.dry_run) return std::nullopt;
    if (inquiries_.knows_answer(next.query)) return std::nullopt;
    if (!may_begin(next)) return DiskStep::rest();
    const auto waited = std::chrono::steady_clock::now() - met_;
    if (waited >= kBeforeBeginning) return std::nullopt;
    return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(kBeforeBeginning - waited));
}

void SourceReader::send(Candidate candidate) {
    ScannedEntry& entry = candidate.entry;
    if (entry.type == EntryType::hard_link && !options_.dry_run) return send_hard_link(std::move(entry));
    if (entry.type != EntryType::file && !options_.dry_run) return send_unread(entry);
    if (!inquiries_.decided()) return begin_file(std::move(entry), {}, candidate.query);
    RemoteHolding holding =
        inquiries_.active() ? answers_.take(*candidate.query) : RemoteHolding{Holding::nothing, {}, change::kNew};
    if (entry.type != EntryType::file) return plan_.add_unread(entry, holding);
    const bool same = holding.has == Holding::same;
    if (same || holding.has == Holding::exists) note_standing(entry);
    const bool told = options_.announce_all || announcer_.tells_meta() || answers_.announce_all();
    if (same && !options_.dry_run && told) {
        return send_kept(entry, holding.has);
    }
    if (holding.has == Holding::blocked || holding.has == Holding::exists) unreplaced_.add(entry);
    if (holding.has == Holding::blocked) return count_unsent(entry);
    if (same || holding.has == Holding::exists) {
        count_unsent(entry);
        return plan_.add(same ? PlannedEntry::Kind::unchanged : PlannedEntry::Kind::skip, entry, holding.changes);
    }
    if (options_.dry_run) return plan_file(std::move(entry), std::move(holding));
    if (holding.has == Holding::file) return send_kept(entry, holding.has);
    begin_file(std::move(entry), std::move(holding), std::nullopt);
}

std::optional<std::uint64_t> SourceReader::sent_earlier(const ScannedEntry& entry) const {
    return options_.sent != nullptr ? options_.sent->earlier(entry.path) : std::nullopt;
}

void SourceReader::note_standing(const ScannedEntry& entry) {
    const auto sent = sent_earlier(entry);
    if (!sent) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.stood_files;
        outcome.sent_earlier.stood_bytes += entry.size;
        outcome.sent_earlier.stood_data += *sent;
    });
}

void SourceReader::send_unread(const ScannedEntry& entry) {
    announcer_.announce(entry);
    if (entry.type != EntryType::directory || !announcer_.tells_meta()) return;
    int ignored = 0;
    const UniqueFd fd = roots_[entry.root].directory.open_directory(entry.path, ignored);
    if (fd) announcer_.send_meta(entry, fd.get(), EntryAnnouncer::Others::go);
}

/// The first of the sources that have no name of their own gives the destination what belongs to it.
void SourceReader::send_top() {
    const auto source = std::ranges::find_if(roots_, [](const SourceRoot& root) { return root.leaf.empty(); });
    struct stat st = {};
    if (source == roots_.end() || ::fstat(source->directory.fd(), &st) != 0) return;
    ScannedEntry entry;
    entry.root = static_cast<std::size_t>(source - roots_.begin());
    entry.type = EntryType::directory;
    entry.mode = static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll;
    entry.mtime = mtime_of(st);
    entry.user = st.st_uid;
    entry.group = st.st_gid;
    send_unread(entry);
}

void SourceReader::send_hard_link(ScannedEntry entry) {
    if (unreplaced_.lead(entry)) return send_unread(entry);
    entry.type = EntryType::file;
    entry.target.clear();
    // As any file, it is asked about first.
    const std::uint64_t query = inquiries_.ask(entry);
    met_ = std::chrono::steady_clock::now();
    candidate_ = {std::move(entry), query};
}

void SourceReader::begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query) {
    int error = 0;
    UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, error);
    struct stat st = {};
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error == 0 && !S_ISREG(st.st_mode)) error = EINVAL;
    if (error != 0) return announce_unreadable(entry, error);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const bool whole = !may_have_holes(st) && size <= kSentExtentBytes && holding.pieces.empty() && !query;
    file_.reset(new OpenFile{std::move(entry), std::move(fd), st, whole, FileDigest(options_.hash, size),
                             std::move(holding), query});
    if (!may_be_same(*file_)) return announce(*file_);
    file_->compare = OpenFile::Compare::before_entry;
}

void SourceReader::announce(OpenFile& file) {
    const bool sparse = may_have_holes(file.before);
    const auto size = static_cast<std::uint64_t>(file.before.st_size);
    message::Entry m;
    m.mode = static_cast<std::uint32_t>(file.before.st_mode) & mode_bits::kAll;
    m.mtime = mtime_of(file.before);
    m.size = size;
    m.sparse = sparse;
    m.whole = file.whole;
    file.index = announcer_.announce(std::move(m), file.entry.path);
    if (announcer_.tells_meta()) announcer_.send_meta(file.entry, file.fd.get(), EntryAnnouncer::Others::none);
    report_.edit([&](Progress& progress, Outcome&) { progress.current_name = file.entry.path; });
    if (!sparse && size > kPieceBytes) ::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    file.cursor.emplace(file.fd.get(), size, sparse);
}

// One piece may have gone ahead of the word that the file is there: in vain. What the receiver gave up after more
// counts.
void SourceReader::end_file(FileStatus status) {
    const std::unique_ptr<OpenFile> closed = std::move(file_);
    OpenFile& file = *closed;
    flush_digests(file);
    message::FileEnd end{file.index, status, {}};
    if (status == FileStatus::ok) {
        end.digest = file.digest.finish();
        root_.add(file.index, end.digest);
        if (options_.sent != nullptr) options_.sent->add(file.entry.path, file.sent);
    } else if (status == FileStatus::kept) {
        if (file.holding.has == Holding::file) {
            count_kept(file.entry.size, 0);
        } else {
            note_standing(file.entry);
        }
    } else if (status == FileStatus::skipped) {
        unreplaced_.add(file.entry);
        if (file.holding.has == Holding::exists) note_standing(file.entry);
    } else {
        unreplaced_.add(file.entry);
        fail(file.entry.path, status, file.error);
    }
    packer_.message(end);
    const bool told = announcer_.tells_meta();
    if (status == FileStatus::kept && told) announcer_.send_meta(file.entry, file.fd.get(), EntryAnnouncer::Others::go);
    if (packer_.stopped()) return;  // the rest still belongs to the whole
    const bool ends_early = status == FileStatus::kept || status == FileStatus::skipped;
    const std::uint64_t counts = ends_early && file.sent <= kPieceBytes ? 0 : file.sent;
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total += counts - file.entry.data_bytes; });
}

void SourceReader::announce_unreadable(const ScannedEntry& entry, int error_number) {
    message::Entry m;
    m.whole = true;
    packer_.message(message::FileEnd{announcer_.announce(std::move(m), entry.path), FileStatus::unreadable, {}});
    count_unsent(entry);
    unreplaced_.add(entry);
    fail(entry.path, FileStatus::unreadable, error_number);
}

SourceReader::Wait SourceReader::send_more(OpenFile& file) {
    if (file.compare != OpenFile::Compare::not_now) {
        compare_more(file);
    } else if (file.fresh.length > 0) {
        send_fresh(file);
    } else if (file.range.length == 0) {
        return begin_extent(file);
    } else if (file.query && file.sent > 0) {
        return await_holding(file);
    } else {
        send_range(file);
    }
    return std::nullopt;
}

SourceReader::Wait SourceReader::await_holding(OpenFile& file) {
    if (!inquiries_.knows_answer(file.query)) {
        packer_.flush();
        return DiskStep::rest();
    }
    if (const FileStatus status = learn_holding(file); status != FileStatus::ok) end_file(status);
    return std::nullopt;
}

SourceReader::Wait SourceReader::begin_extent(OpenFile& file) {
    const auto extent = file.cursor->next();
    if (!extent) {
        // A receiver that has it all says so, and must not be told that it came as well.
        if (file.query) return await_holding(file);
        end_file(check_read(file));
    } else if (skip_.load(std::memory_order_relaxed) == file.index && !file.whole) {
        end_file(FileStatus::skipped);
    } else if (file.whole) {
        will_send(file, *extent);
    } else {
        file.range = *extent;
    }
    return std::nullopt;
}

FileStatus SourceReader::check_read(OpenFile& file) const {
    struct stat after = {};
    if (::fstat(file.fd.get(), &after) != 0 || !same_version(file.before, after)) return FileStatus::changed;
    // Some file systems (procfs, FUSE) give no true size: what lies behind it must not be dropped in silence.
    std::array<std::byte, 1> beyond{};
    std::size_t count = 0;
    file.error = read_all_at(file.fd.get(), beyond, static_cast<std::uint64_t>(file.before.st_size), count);
    if (file.error != 0) return FileStatus::unreadable;
    return count == 0 ? FileStatus::ok : FileStatus::changed;
}

void SourceReader::will_send(OpenFile& file, const Extent& extent) {
    file.sent += extent.length;
    data_bytes_ += extent.length;
    file.fresh = extent;
}

void SourceReader::send_fresh(OpenFile& file) {
    Extent& rest = file.fresh;
    const std::uint64_t length = piece_length(rest.offset, rest.length);
    const FileStatus status = send_piece(file, rest.offset, length);
    rest.offset += length;
    rest.length -= length;
    if (status == FileStatus::ok) return;
    send_zeros(rest.length);
    end_file(status);
}

FileStatus SourceReader::send_piece(OpenFile& file, std::uint64_t offset, std::uint64_t length) {
    piece_hasher_.reset();
    std::uint64_t done = 0;
    while (done < length && !packer_.stopped()) {
        std::span<std::byte> room = packer_.space();
        room = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length - done)));
        std::size_t count = 0;
        file.error = read_all_at(file.fd.get(), room, offset + done, count);
        piece_hasher_.update(room.first(count));
        packer_.advance(count);
        done += count;
        if (count < room.size()) {
            send_zeros(length - done);
            return file.error != 0 ? FileStatus::unreadable : FileStatus::changed;
        }
    }
    const Digest digest = piece_hasher_.finish();
    file.digest.add(offset, length, digest);
    add_digest(file, digest);
    return FileStatus::ok;
}

void SourceReader::send_zeros(std::uint64_t length) {
    while (length > 0 && !packer_.stopped()) {
        const std::span<std::byte> room = packer_.space();
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length));
        std::memset(room.data(), 0, n);
        packer_.advance(n);
        length -= n;
    }
}

void SourceReader::add_digest(OpenFile& file, const Digest& digest) {
    file.digests.push_back(digest);
    if (file.digests.size() == kDigestsPerMessage) flush_digests(file);
}

void SourceReader::flush_digests(OpenFile& file) {
    if (file.digests.empty()) return;
    const std::uint64_t count = file.digests.size();
    packer_.message(message::Digests{file.index, file.first_unsent_digest, std::move(file.digests)});
    file.digests.clear();
    file.first_unsent_digest += count;
}

void SourceReader::count_unsent(const ScannedEntry& entry) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total -= entry.data_bytes; });
}

void SourceReader::send_kept(const ScannedEntry& entry, Holding has) {
    message::Entry m;
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.size = entry.size;
    packer_.message(message::FileEnd{announcer_.announce(std::move(m), entry.path), FileStatus::kept, {}});
    if (announcer_.tells_meta()) {
        int ignored = 0;
        const UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, ignored);
        if (fd) announcer_.send_meta(entry, fd.get(), EntryAnnouncer::Others::go);
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
        return plan_.add_changed(closed->entry, changes);
    }
    count_unsent(closed->entry);
    plan_.add(PlannedEntry::Kind::unchanged, closed->entry, changes);
}

void SourceReader::forget_compared(OpenFile& file) {
    // What was sent before is not kept.
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept -= std::min(file.same_until, file.sent); });
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
    plan_.add_changed(entry, changes);
}

bool SourceReader::may_begin(const Candidate& candidate) const {
    return !inquiries_.decided() && candidate.query && !options_.dry_run && candidate.entry.size > kPieceBytes;
}

FileStatus SourceReader::learn_holding(OpenFile& file) {
    const std::uint64_t query = *std::exchange(file.query, std::nullopt);
    if (!inquiries_.active()) return FileStatus::ok;
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

void SourceReader::finish() {
    inquiries_.flush_unsent();
    announcer_.tell_left_out();
    message::Finish m;
    m.entries = announcer_.count();
    m.data_bytes = data_bytes_;
    m.unsent = report_.unannounced();
    m.root = root_.finish();
    packer_.finish(m);
}

void SourceReader::fail(const std::string& path, FileStatus status, int error_number) {
    Error error = status == FileStatus::changed
                      ? Error{ErrorCode::partial, "'" + escape_name(path) +
                                                      "' changed while it was read, or does not tell its true size "
                                                      "(procfs): send it again or copy it first"}
                      : io_error("cannot read", path, error_number);
    report_.fail({path, error.code, std::move(error.message)});
}

}  // namespace udtx::transfer
