#include "path/validator.hpp"

#include <algorithm>

namespace udtx::path {

void Validator::begin(Task task, Instant now, const Address& local, const Address& remote, std::uint64_t challenge) {
    task_ = task;
    local_ = local;
    remote_ = remote;
    challenge_ = challenge;
    received_ = 0;
    sent_ = 0;
    tries_ = 0;
    next_ = now;
}

void Validator::on_packet_from(Instant now, const Address& local, const Address& remote, std::uint64_t bytes,
                               std::uint64_t challenge) {
    if (task_ == Task::ask) return;
    const bool gave_up = tries_ >= kTries && now >= next_ + kTryAgain;
    if (!active() || gave_up || remote != remote_) begin(Task::verify, now, local, remote, challenge);
    received_ += bytes;
}

void Validator::ask(Instant now, const Address& local, const Address& remote, std::uint64_t challenge) {
    begin(Task::ask, now, local, remote, challenge);
}

bool Validator::challenge_due(Instant now) const {
    const auto due = deadline();
    return due && now >= *due;
}

void Validator::on_challenge_sent(Instant now, std::uint64_t bytes, Duration retry_after) {
    sent_ += bytes;
    next_ = now + (task_ == Task::ask ? std::min(kAskAgain * (1 << std::min(tries_, 10)), kAskSeldom) : retry_after);
    ++tries_;
}

std::optional<Instant> Validator::deadline() const noexcept {
    if (!active() || (task_ == Task::verify && tries_ >= kTries)) return std::nullopt;
    return next_;
}

}  // namespace udtx::path
