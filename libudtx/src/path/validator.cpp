#include "path/validator.hpp"

namespace udtx::path {

void Validator::on_packet_from(Instant now, const Address& local, const Address& remote, std::uint64_t bytes,
                               std::uint64_t challenge) {
    const bool gave_up = tries_ >= kTries && now >= next_ + kTryAgain;
    if (!active_ || gave_up || remote != remote_) {
        active_ = true;
        local_ = local;
        remote_ = remote;
        challenge_ = challenge;
        received_ = 0;
        sent_ = 0;
        tries_ = 0;
        next_ = now;
    }
    received_ += bytes;
}

bool Validator::challenge_due(Instant now) const { return active_ && tries_ < kTries && now >= next_; }

void Validator::on_challenge_sent(Instant now, std::uint64_t bytes, Duration retry_after) {
    sent_ += bytes;
    ++tries_;
    next_ = now + retry_after;
}

std::optional<Instant> Validator::deadline() const noexcept {
    if (!active_ || tries_ >= kTries) return std::nullopt;
    return next_;
}

}  // namespace udtx::path
