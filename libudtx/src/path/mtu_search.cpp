#include "path/mtu_search.hpp"

#include <algorithm>
#include <array>

namespace udtx::path {

namespace {
// UDP payload sizes of common links: IPv6 minimum, PPPoE and tunnels, Ethernet over IPv6 and IPv4, jumbo frames,
// loopback.
constexpr std::array<std::uint32_t, 9> kCommon{1232, 1392, 1452, 1472, 8932, 8952, 16384, 32768, 65000};
}  // namespace

std::uint32_t MtuSearch::next_size() const {
    if (told_ > current_ && told_ <= ceiling_) return told_;
    if (previous_ > current_) return previous_;
    for (const std::uint32_t size : kCommon) {
        if (size > current_ && size <= ceiling_) return size;
    }
    const bool searched = ceiling_ < current_ + kStep;  // searched again only after kRaiseAgain
    if (ceiling_ < maximum_ && !searched) return current_ + (ceiling_ - current_ + 1) / 2;
    for (const std::uint32_t size : kCommon) {
        if (size > current_ && size <= maximum_) return size;
    }
    return maximum_;
}

std::optional<std::uint32_t> MtuSearch::probe_due(Instant now) const {
    if (in_flight_) return std::nullopt;
    if (doubted()) return current_;
    if (resume_ && now < *resume_) return std::nullopt;
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
    on_passed(size);
    // The message was forged, or is about an earlier path.
    if (size > told_) told_ = 0;
    current_ = std::max(current_, size);
    if (ceiling_ < current_) ceiling_ = maximum_;
    rest_if_searched(now);
}

void MtuSearch::rest_if_searched(Instant now) {
    resume_.reset();
    // The search is complete; the path may grow later (RFC 8899, section 5.3.3, PMTU_RAISE_TIMER).
    if (ceiling_ < maximum_ && ceiling_ < current_ + kStep) resume_ = now + kRaiseAgain;
}

void MtuSearch::refuse(Instant now, std::uint32_t size) {
    tries_ = 0;
    previous_ = 0;
    ceiling_ = std::max(current_, std::min(ceiling_, size - 1));
    rest_if_searched(now);
}

void MtuSearch::on_probe_lost(Instant now, std::uint32_t size) {
    in_flight_ = false;
    if (size == current_ && doubted()) {
        const std::uint32_t told = told_;
        if (told < minimum_) minimum_ = kLeast;
        restart();
        told_ = told;
        ceiling_ = size - 1;
        return;
    }
    if (size <= current_ || size != next_size()) return;  // the probe belongs to an abandoned search
    const bool told_so = told_ != 0 && told_ < size;
    if (++tries_ < kTries && !told_so) return;
    if (size == told_) told_ = 0;
    refuse(now, size);
}

void MtuSearch::on_told(std::uint32_t size) noexcept {
    size = std::max(size, kLeast);
    if (size < maximum_) told_ = size;
}

void MtuSearch::on_too_large(Instant now, std::uint32_t size) {
    if (size <= minimum_) {
        if (size <= kLeast || minimum_ <= kLeast) return;
        minimum_ = kLeast;
    }
    if (size <= current_) current_ = minimum_;
    in_flight_ = false;
    refuse(now, size);
}

void MtuSearch::on_passed(std::uint32_t size) {
    if (size >= usual_minimum_) minimum_ = usual_minimum_;
}

void MtuSearch::on_acked(Instant now, PacketNumber number, std::uint32_t size) {
    on_passed(size);
    if (size <= minimum_) return;
    large_acked_ = std::max(large_acked_.value_or(number), number);
    large_losses_ = 0;
    if (size <= current_) return;
    current_ = size;
    if (ceiling_ < current_) ceiling_ = maximum_;
    rest_if_searched(now);
}

void MtuSearch::on_lost(Instant sent, PacketNumber number, std::uint32_t size, Duration patience) {
    if (size <= minimum_ || current_ == minimum_ || (large_acked_ && number < *large_acked_)) return;
    if (large_losses_++ == 0) first_large_loss_ = sent;
    if (large_losses_ < kBlackHoleLosses || sent - first_large_loss_ < patience) return;
    verify();
}

void MtuSearch::verify() {
    const std::uint32_t before = current_;
    restart();
    previous_ = before;
}

void MtuSearch::restart() {
    current_ = minimum_;
    ceiling_ = maximum_;
    previous_ = 0;
    told_ = 0;
    tries_ = 0;
    in_flight_ = false;
    resume_.reset();
    large_losses_ = 0;
}

}  // namespace udtx::path
