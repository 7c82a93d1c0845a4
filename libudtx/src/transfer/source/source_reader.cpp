#include "transfer/source/source_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "transfer/file/pieces.hpp"

namespace udtx::transfer {

namespace {

// Small files are collected up to this size before the protocol thread is woken.
constexpr std::size_t kEagerBytes = 256U << 10U;
// Most bytes of small files that are sent before the receiver has said what it has. This is about what the first
// windows hold, and little if it was needless.
constexpr std::uint64_t kMaxAheadBytes = 64U << 10U;
// On a short path the receiver has answered by then, and nothing is sent needlessly.
constexpr auto kBeforeBeginning = std::chrono::milliseconds(20);

// Steps of the clocks of file systems: of the kernel's tick, and those of FAT.
constexpr std::chrono::milliseconds kFineStep(20);
constexpr std::chrono::milliseconds kCoarseStep(2000);

/// How long a file must rest until each later write shows in its times.
std::chrono::milliseconds time_to_settle(const struct stat& st) {
    using namespace std::chrono;
    const auto changed = system_clock::time_point(seconds(st.st_ctim.tv_sec)) +
                         duration_cast<system_clock::duration>(nanoseconds(st.st_ctim.tv_nsec));
    const milliseconds step = st.st_ctim.tv_nsec == 0 ? kCoarseStep : kFineStep;
    const auto passed = system_clock::now() - changed;
    // A time far in the future is that of another clock.
    return passed < step && passed > -step ? ceil<milliseconds>(step - passed) : milliseconds(0);
}

}  // namespace

SourceReader::SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned,
                           OutgoingQueue& out, LateWaker& waker, JobReport& report, ResumeAnswers& answers)
    : roots_(roots),
      options_(std::move(options)),
      report_(report),
      packer_(out, waker),
      announcer_(roots_, options_, packer_, report_),
      plan_(options_, packer_, report_),
      inquiries_(options_, scanned, packer_, announcer_, answers),
      counts_(options_.sent, report_),
      piece_hasher_(options_.hash),
      sender_(options_.hash, piece_hasher_, packer_, announcer_, inquiries_, counts_, unreplaced_) {}

DiskStep SourceReader::step() {
    const DiskSlice slice;
    if (!std::exchange(begun_, true)) {
        for (message::Rules& rules : options_.erase_rules) packer_.message(std::move(rules));
        inquiries_.take_decision();
        if (options_.tops) announcer_.announce_top();
    }
    for (;;) {
        if (packer_.closed()) return DiskStep::over();
        if (packer_.full()) return DiskStep::rest();
        if (slice.over()) return DiskStep::again();
        if (const Wait wait = go_on()) return *wait;
        if (!sender_.busy() && packer_.pending() >= kEagerBytes) packer_.flush();
    }
}

SourceReader::Wait SourceReader::go_on() {
    if (sender_.busy()) return sender_.go_on();
    if (fresh_) {
        const auto now = std::chrono::steady_clock::now();
        if (now < fresh_->until)
            return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(fresh_->until - now));
        Fresh file = *std::exchange(fresh_, std::nullopt);
        begin_file(std::move(file.entry), std::move(file.holding), file.query, true);
        return std::nullopt;
    }
    if (compared_) {
        compare();
        return std::nullopt;
    }
    if (!candidate_) {
        if (const Wait wait = take_next()) return wait;
    }
    if (const Wait wait = wait_to_send()) {
        packer_.flush();
        return wait;
    }
    send(*std::exchange(candidate_, std::nullopt));
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
    announcer_.meet(candidate_->entry);
    counts_.meet(candidate_->entry);
    return std::nullopt;
}

SourceReader::Wait SourceReader::wait_to_send() {
    const Candidate& next = *candidate_;
    if (next.entry.type != EntryType::file && !options_.dry_run) return std::nullopt;
    if (inquiries_.knows_answer(next.query) || goes_ahead(next)) return std::nullopt;
    // While the receiver has not answered, a file longer than one piece is started: its first block opens the
    // congestion window. A part is not started, since a needless start would leave data behind for the other shards.
    const bool may_begin =
        !inquiries_.decided() && next.query && !options_.dry_run && !next.entry.part && next.entry.size > kPieceBytes;
    if (!may_begin) return DiskStep::rest();
    const auto waited = std::chrono::steady_clock::now() - met_;
    if (options_.far || waited >= kBeforeBeginning) return std::nullopt;
    return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(kBeforeBeginning - waited));
}

bool SourceReader::goes_ahead(const Candidate& next) const {
    // Receipts and other names of the file need the answer. A file that an earlier connection sent exists already.
    const bool plain = !options_.dry_run && !options_.part && !next.entry.part && !options_.by_digest &&
                       !options_.hard_links && !options_.announce_all && !announcer_.tells_meta();
    const bool again = options_.sent != nullptr && options_.sent->earlier(next.entry.path);
    return options_.far && plain && !again && !inquiries_.decided() && next.query &&
           next.entry.size <= kMaxAheadBytes - ahead_bytes_;
}

void SourceReader::send(Candidate candidate) {
    ScannedEntry& entry = candidate.entry;
    const bool file = entry.type == EntryType::file;
    if (!options_.dry_run && !file) {
        if (entry.type == EntryType::hard_link) return send_hard_link(std::move(entry));
        announcer_.announce_unread(entry);
        if (entry.type == EntryType::symlink) counts_.sent_link(entry);
        return;
    }
    if (goes_ahead(candidate)) {
        inquiries_.send_ahead(candidate);
        ahead_bytes_ += entry.size;
        return begin_file(std::move(entry), {}, std::nullopt);
    }
    if (!inquiries_.decided()) return begin_file(std::move(entry), {}, candidate.query);
    RemoteHolding holding = inquiries_.take_holding(candidate.query);
    if (!file) return plan_unread(std::move(entry), holding);
    if (!leave_out(entry, holding)) begin_file(std::move(entry), std::move(holding), std::nullopt);
}

void SourceReader::send_hard_link(ScannedEntry entry) {
    if (unreplaced_.lead(entry)) {
        announcer_.announce_unread(entry);
        return counts_.sent_link(entry);
    }
    send_as_file(std::move(entry));
}

void SourceReader::send_as_file(ScannedEntry link) {
    link.type = EntryType::file;
    link.target.clear();
    // Like any other file, it is queried first.
    ask_again(std::move(link));
}

void SourceReader::ask_again(ScannedEntry entry) {
    const std::uint64_t query = inquiries_.ask(entry);
    met_ = std::chrono::steady_clock::now();
    candidate_ = {std::move(entry), query};
}

void SourceReader::plan_unread(ScannedEntry entry, const RemoteHolding& holding) {
    if (entry.type != EntryType::hard_link) return plan_.add_unread(entry, holding);
    const std::string target = entry.target;
    if (!unreplaced_.lead(entry)) return send_as_file(std::move(entry));
    if (entry.target == target) return plan_.add_unread(entry, holding);
    announcer_.announce(entry);  // the first query was about a link to another name
    ask_again(std::move(entry));
}

bool SourceReader::leave_out(const ScannedEntry& entry, const RemoteHolding& holding) {
    const bool same = holding.has == Holding::same;
    const bool exists = holding.has == Holding::exists;
    const bool blocked = holding.has == Holding::blocked;
    const bool delivered = holding.has == Holding::file && !options_.dry_run;
    if (!same && !exists && !blocked && !delivered) return false;
    counts_.end(entry, 0);
    if (same || exists) counts_.stands(entry);
    if (delivered) counts_.kept_file(entry);
    const bool told = !options_.dry_run && (inquiries_.announces_all() || announcer_.tells_meta());
    if (delivered || (same && told)) {
        announcer_.announce_kept(entry);
    } else if (same) {
        plan_.add(PlannedEntry::Kind::unchanged, entry, holding.changes);
    } else {
        unreplaced_.add(entry);
        if (exists) plan_.add(PlannedEntry::Kind::skip, entry, holding.changes);
    }
    return true;
}

void SourceReader::begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query,
                              bool settled) {
    int error = 0;
    UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, error);
    if (options_.dry_run && error == 0 && holding.has != Holding::all_pieces) {
        return plan_.add_changed(entry, holding.changes);
    }
    struct stat st = {};
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    const std::uint8_t changes = holding.changes;
    if (!fd) return cannot_read(entry, changes, why_unreadable(entry, error));
    if (error != 0 || !S_ISREG(st.st_mode)) {
        return cannot_read(entry, changes, unreadable(entry.path, S_IFREG, error != 0 ? S_IFREG : st.st_mode, error));
    }
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (size > kMaxNumber) return cannot_read(entry, changes, too_large(entry.path, size));
    if (const auto wait = settled ? std::chrono::milliseconds(0) : time_to_settle(st); wait.count() > 0) {
        packer_.flush();
        fresh_ = Fresh{std::move(entry), std::move(holding), query, std::chrono::steady_clock::now() + wait};
        return;
    }
    // The file may have grown or shrunk since it was found.
    if (!choose_bytes(options_, size, entry)) return cannot_read(entry, changes, SourceCounts::changed(entry));
    SourceFile file{std::move(entry), std::move(fd), st, KeptPieces(piece_hasher_, std::move(holding)), query};
    if (!file.may_be_same()) return end_comparing(std::move(file), false);
    compared_ = std::move(file);
}

Error SourceReader::why_unreadable(const ScannedEntry& entry, int error_number) const {
    const SplitName split = split_leaf(entry.path);
    int ignored = 0;
    const UniqueFd parent = roots_[entry.root].directory.open_directory(split.directory, ignored);
    return unreadable(parent.get(), split.leaf, entry.path, S_IFREG, error_number);
}

void SourceReader::cannot_read(const ScannedEntry& entry, std::uint8_t changes, Error why) {
    // A file that changes now may be at rest when the run reads it.
    const bool changed = why.code == ErrorCode::partial;
    if (options_.dry_run && changed) return plan_.add_changed(entry, changes | change::kContent);
    if (!options_.dry_run) {
        announcer_.announce_unreadable(entry, changed ? FileStatus::changed : FileStatus::unreadable, why.system_error);
    }
    counts_.end(entry, 0);
    counts_.fail(entry, std::move(why));
    unreplaced_.add(entry);
}

void SourceReader::compare() {
    const std::uint64_t before = compared_->kept.same_until();
    const auto same = compared_->compare();
    counts_.compared(compared_->kept.same_until() - before);
    if (!same) return;
    const bool stands = options_.dry_run || compared_->stands();
    end_comparing(*std::exchange(compared_, std::nullopt), *same && stands);
}

void SourceReader::end_comparing(SourceFile file, bool same) {
    const std::uint8_t changes = file.kept.changes();
    if (!same && !options_.dry_run) return sender_.begin(std::move(file));
    if (!same) return plan_.add_changed(file.entry, changes | change::kContent);
    counts_.end(file.entry, 0);
    if (options_.dry_run) return plan_.add(PlannedEntry::Kind::unchanged, file.entry, changes);
    counts_.stands(file.entry);
    announcer_.announce_kept(file.entry);
}

void SourceReader::finish() {
    inquiries_.flush_unsent();
    announcer_.tell_left_out();
    message::Finish m;
    m.entries = announcer_.count();
    m.data_bytes = sender_.data_bytes();
    m.unsent = report_.unannounced();
    m.root = sender_.root();
    packer_.finish(m);
}

}  // namespace udtx::transfer
