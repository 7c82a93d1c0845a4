#include "transfer/source/resume_answers.hpp"

#include <utility>

namespace udtx::transfer {

namespace {

// The number of records in a journal of the largest size.
constexpr std::uint64_t kMaxPieces = 4U << 20U;

}  // namespace

bool ResumeAnswers::announce_all() const {
    const std::lock_guard lock(mutex_);
    return announce_all_;
}

void ResumeAnswers::decide(const message::Resume& resume) {
    {
        const std::lock_guard lock(mutex_);
        if (!active_) active_ = resume.active;
        announce_all_ = resume.announce_all;
    }
    tell();
}

void ResumeAnswers::presume_nothing() {
    {
        const std::lock_guard lock(mutex_);
        if (!active_) active_ = false;
    }
    tell();
}

Result<void> ResumeAnswers::add(const message::Answer& answer) {
    {
        const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(number);
    at->second.forgotten = true;
    if (at->second.complete) erase(at);
}

void ResumeAnswers::cancel() {
    {
        const std::lock_guard lock(mutex_);
        cancelled_ = true;
    }
    tell();
}

std::optional<bool> ResumeAnswers::decision() const {
    const std::lock_guard lock(mutex_);
    return cancelled_ ? false : active_;
}

std::uint64_t ResumeAnswers::ask() {
    const std::lock_guard lock(mutex_);
    open_.try_emplace(next_);
    return next_++;
}

bool ResumeAnswers::answered(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(number);
    return cancelled_ || (at != open_.end() && at->second.complete);
}

RemoteHolding ResumeAnswers::take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto at = open_.find(number);
    RemoteHolding holding = at->second.complete ? std::move(at->second.holding) : RemoteHolding();
    pieces_ -= holding.pieces.size();
    open_.erase(at);
    return holding;
}

}  // namespace udtx::transfer
