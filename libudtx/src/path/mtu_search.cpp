#include "path/mtu_search.hpp"

#include <algorithm>
#include <array>

namespace udtx::path {

namespace {
// UDP payloads of common links: IPv6 minimum, PPPoE and tunnels, Ethernet over IPv6 and IPv4, jumbo frames, loopback.
constexpr std::array<std::uint32_t, 9> kCommon{1232, 1392, 1452, 1472, 8932, 8952, 16384, 32768, 65000};
}  // namespace

std::uint32_t MtuSearch::next_size() const {
    const bool searched = ceiling_ < current_ + kStep;  // asked again only after kRaiseAgain
    if (ceiling_ < maximum_ && !searched) return current_ + (ceiling_ - current_ + 1) / 2;
    for (const std::uint32_t size : kCommon) {
        if (size > current_ && size <= maximum_) return size;
    }
    return maximum_;
}

std::optional<std::uint32_t> MtuSearch::probe_due(Instant now) const {
    if (in_flight_ || (resume_ && now < *resume_)) return std::nullopt;
    if (current_ >= maximum_) return std::nullopt;
    return next_size();
}

std::optional<Instant> MtuSearch::deadline() const {
    if (in_flight_ || current_ >= maximum_) return std::nullopt;
    return resume_;
}

void MtuSearch::on_probe_acked(Instant now, std::uint32_t size) {
    in_flight_ = false;
    tries_ = 0;
    current_ = std::max(current_, size);
    if (ceiling_ < current_) ceiling_ = maximum_;
    rest_if_searched(now);
}

void MtuSearch::rest_if_searched(Instant now) {
    resume_.reset();
    // Searched to the end; the path may grow later (RFC 8899, section 5.3.3, PMTU_RAISE_TIMER).
    if (ceiling_ < maximum_ && ceiling_ < current_ + kStep) resume_ = now + kRaiseAgain;
}

void MtuSearch::refuse(Instant now, std::uint32_t size) {
    tries_ = 0;
    ceiling_ = std::max(current_, std::min(ceiling_, size - 1));
    rest_if_searched(now);
}

void MtuSearch::on_probe_lost(Instant now, std::uint32_t size) {
    in_flight_ = false;
    if (size <= current_) return;
    if (++tries_ >= kTries) refuse(now, size);
}

void MtuSearch::on_too_large(Instant now, std::uint32_t size) {
    if (size <= minimum_) return;
    if (size <= current_) current_ = minimum_;
    in_flight_ = false;
    refuse(now, size);
}

bool MtuSearch::on_black_hole(Instant now) {
    if (current_ == minimum_) return false;
    current_ = minimum_;
    ceiling_ = maximum_;
    tries_ = 0;
    in_flight_ = false;
    resume_ = now + kAfterBlackHole;
    return true;
}

}  // namespace udtx::path
