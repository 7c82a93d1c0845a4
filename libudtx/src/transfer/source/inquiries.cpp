#include "transfer/source/inquiries.hpp"

#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// The number of records in a journal of the largest size.
constexpr std::uint64_t kMaxPieces = 4U << 20U;

// Pieces compared in one call, so that other tasks get their turn.
constexpr std::size_t kComparedAtOnce = 16;

// Most files with an open query: at a round-trip time of 0.1 s, 160,000 of them a second.
constexpr std::size_t kAskAhead = 16384;
// Most bytes of those files: the receiver hashes the ones that changed, and must remember the digests.
constexpr std::uint64_t kAskAheadBytes = 64ULL << 30U;

}  // namespace

bool ResumeAnswers::announce_all() const {
    const Lock lock(mutex_);
    return announce_all_;
}

void ResumeAnswers::decide(const message::Resume& resume) {
    {
        const Lock lock(mutex_);
        if (!active_) active_ = resume.active;
        announce_all_ = resume.announce_all;
    }
    tell();
}

void ResumeAnswers::presume_nothing() {
    {
        const Lock lock(mutex_);
        if (!active_) active_ = false;
    }
    tell();
}

Result<void> ResumeAnswers::add(const message::Answer& answer) {
    {
        const Lock lock(mutex_);
        const auto at = open_.find(answer.number);
        if (at == open_.end() || at->second.complete) return broken("an answer to no query");
        Slot& slot = at->second;
        pieces_ += answer.pieces.size();
        if (pieces_ > kMaxPieces) return broken("the receiver claims too many pieces");
        for (const ProvenPiece& piece : answer.pieces) slot.holding.pieces[piece.offset] = piece;
        slot.holding.has = answer.has;
        slot.holding.changes = answer.changes;
        slot.complete = answer.has != Holding::pieces;
        if (!slot.complete) return {};
        if (slot.forgotten) erase(at);
    }
    tell();
    return {};
}

void ResumeAnswers::forget(std::uint64_t number) {
    const Lock lock(mutex_);
    const auto at = open_.find(number);
    at->second.forgotten = true;
    if (at->second.complete) erase(at);
}

void ResumeAnswers::cancel() {
    {
        const Lock lock(mutex_);
        cancelled_ = true;
    }
    tell();
}

std::optional<bool> ResumeAnswers::decision() const {
    const Lock lock(mutex_);
    return cancelled_ ? false : active_;
}

std::uint64_t ResumeAnswers::ask() {
    const Lock lock(mutex_);
    open_.try_emplace(next_);
    return next_++;
}

bool ResumeAnswers::answered(std::uint64_t number) const {
    const Lock lock(mutex_);
    const auto at = open_.find(number);
    return cancelled_ || (at != open_.end() && at->second.complete);
}

RemoteHolding ResumeAnswers::take(std::uint64_t number) {
    const Lock lock(mutex_);
    const auto at = open_.find(number);
    RemoteHolding holding = at->second.complete ? std::move(at->second.holding) : RemoteHolding();
    pieces_ -= holding.pieces.size();
    open_.erase(at);
    return holding;
}

// A piece that cannot be read counts as different; the error is reported when the piece is to be sent.

std::optional<bool> KeptPieces::compare(int fd, std::uint64_t size) {
    if (same_until_ >= size) return true;
    const std::uint64_t length = piece_length(same_until_, size - same_until_);
    const auto there = holding_.pieces.find(same_until_);
    const bool same = there != holding_.pieces.end() && there->second.length == length &&
                      hasher_->hash(fd, same_until_, length) == there->second.digest;
    if (!same) return false;
    same_until_ += length;
    return std::nullopt;
}

std::vector<ProvenPiece> KeptPieces::take_run(int fd, const Extent& range) {
    std::vector<ProvenPiece> run;
    std::uint64_t done = 0;
    while (done < range.length && run.size() < kComparedAtOnce) {
        const std::uint64_t offset = range.offset + done;
        const std::uint64_t length = piece_length(offset, range.length - done);
        const auto node = holding_.pieces.extract(offset);
        if (!node) break;
        const ProvenPiece& piece = node.mapped();
        const bool same =
            piece.length == length && (offset < same_until_ || hasher_->hash(fd, offset, length) == piece.digest);
        if (!same) break;
        run.push_back(piece);
        done += length;
    }
    return run;
}

std::uint64_t KeptPieces::fresh_run(const Extent& range) const {
    if (holding_.pieces.empty()) return range.length;
    std::uint64_t length = piece_length(range.offset, range.length);
    while (length < range.length && holding_.pieces.count(range.offset + length) == 0) {
        length += piece_length(range.offset + length, range.length - length);
    }
    return length;
}

std::optional<Inquiries::Candidate> Inquiries::next() {
    look_ahead(active_ ? kAskAhead : decided_ ? 1 : kAskedEarly);
    if (waiting_.empty()) return std::nullopt;
    Candidate candidate = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= candidate.entry.size;
    return candidate;
}

void Inquiries::look_ahead(std::size_t most) {
    while (waiting_.size() < most && waiting_bytes_ < kAskAheadBytes) {
        auto entry = scanned_.try_pop();
        if (!entry) return;
        look_at(std::move(*entry));
    }
}

void Inquiries::look_at(ScannedEntry entry) {
    if (entry.unsent) return note_unsent(std::move(entry.path));
    std::optional<std::uint64_t> query;
    const bool file = entry.type == EntryType::file;
    // In a dry run an announcement only tells the receiver which entry the query is about.
    if (options_.what.dry_run && !file) announcer_.announce(entry);
    if ((active_ || !decided_) && (file || options_.what.dry_run)) query = ask(entry);
    waiting_bytes_ += entry.size;
    waiting_.push_back({std::move(entry), query});
}

void Inquiries::note_unsent(std::string path) {
    unsent_bytes_ += path.size() + 2;
    if (unsent_bytes_ > kMaxListedPathBytes || unsent_.paths.size() == kMaxListItems) {
        flush_unsent();
        unsent_bytes_ = path.size() + 2;
    }
    unsent_.paths.push_back(std::move(path));
}

void Inquiries::flush_unsent() {
    if (!unsent_.paths.empty()) packer_.message(std::exchange(unsent_, {}));
    unsent_bytes_ = 0;
}

std::uint64_t Inquiries::ask(const ScannedEntry& entry) {
    const std::uint64_t number = answers_.ask();
    message::Query query{
        .number = number, .path = split_path(entry.path), .size = entry.size, .mtime = entry.mtime, .mode = entry.mode};
    if (!options_.what.dry_run) query.part = entry.part;
    if (options_.what.dry_run) announcer_.add_belongings(entry, query);
    packer_.message(std::move(query));
    return number;
}

bool Inquiries::knows_answer(std::optional<std::uint64_t> query) {
    if (!decided_) {
        look_ahead(kAskedEarly);
        take_decision();
    }
    return decided_ && (!active_ || !query || answers_.answered(*query));
}

RemoteHolding Inquiries::take_holding(std::optional<std::uint64_t> query) {
    return active_ ? answers_.take(*query) : RemoteHolding{Holding::nothing, {}, change::kNew};
}

void Inquiries::take_decision() {
    const auto decision = answers_.decision();
    decided_ = decision.has_value();
    active_ = decision.value_or(false);
}

}  // namespace udtx::transfer
