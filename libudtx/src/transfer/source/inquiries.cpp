#include "transfer/source/inquiries.hpp"

#include <utility>

#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Most files with an open query: at a round-trip time of 0.1 s, 160,000 of them a second.
constexpr std::size_t kAskAhead = 16384;
// Most bytes of those files: the receiver hashes the ones that changed, and must remember the digests.
constexpr std::uint64_t kAskAheadBytes = 64ULL << 30U;

}  // namespace

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
    if (options_.dry_run && !file) announcer_.announce(entry);
    if ((active_ || !decided_) && (file || options_.dry_run)) query = ask(entry);
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
    message::Query query{number, split_path(entry.path), entry.size, entry.mtime, entry.mode};
    if (!options_.dry_run) query.part = entry.part;
    if (options_.dry_run) announcer_.add_belongings(entry, query);
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
