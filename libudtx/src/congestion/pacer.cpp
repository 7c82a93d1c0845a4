#include "congestion/pacer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace udtx::congestion {

void Pacer::size_bursts() {
    if (rate_.is_infinite()) return;
    line_burst_ = rate_.bytes_in(kBurst);
    burst_ = std::max(line_burst_, 2.0 * datagram_bytes_);
    batch_ = line_burst_ >= std::max(kBatch, burst_) ? kBatch : 0.0;
    most_credit_ = std::max({kKeptBursts * line_burst_, rate_.bytes_in(kept_late_), burst_});
}

double Pacer::credit_at(Instant now) const {
    const double earned = now > credited_ ? rate_.bytes_in(now - credited_) : 0.0;
    return std::min(credit_ + earned, most_credit_);
}

void Pacer::set_held(bool held, Duration rtt) noexcept {
    const Duration late = held ? std::min(rtt / kLateRttParts, kMostLate) : Duration::zero();
    if (std::exchange(kept_late_, late) != late) size_bursts();
}

void Pacer::set_rate(Instant now, Rate rate, std::uint32_t datagram_bytes) {
    const bool was_paced = !rate_.is_infinite();
    const double credit = was_paced ? credit_at(now) : 0.0;
    datagram_bytes_ = datagram_bytes;
    // At least one datagram a second: at a rate of zero no probe could leave to find a better rate.
    rate_ = std::max(rate, Rate::bytes_per_second(datagram_bytes));
    size_bursts();
    credited_ = now;
    if (rate_.is_infinite()) return;
    credit_ = was_paced ? credit : burst_;
}

std::uint64_t Pacer::budget(Instant now) const {
    if (rate_.is_infinite()) return kUnpaced;
    double credit = credit_at(now);
    if (credit < batch_) credit = std::min(credit, begun_);
    return credit > 0.0 ? static_cast<std::uint64_t>(credit) : 0;
}

void Pacer::on_sent(Instant now, std::uint64_t bytes) {
    if (rate_.is_infinite()) return;
    const auto sent = static_cast<double>(bytes);
    const double credit = credit_at(now);
    if (begun_ < sent) begun_ = credit >= batch_ ? batch_ : 0.0;
    begun_ = std::max(begun_ - sent, 0.0);
    // The debt is bounded, so that a series of probes does not block the path for long.
    credit_ = std::max(credit - sent, -burst_);
    credited_ = std::max(credited_, now);
}

std::optional<Instant> Pacer::next_departure(Instant now) const {
    if (rate_.is_infinite()) return std::nullopt;
    const double wanted = line_burst_ >= 2.0 * datagram_bytes_ ? line_burst_ : datagram_bytes_;
    now = std::max(now, credited_);
    const double missing = wanted - credit_at(now);
    if (missing <= 0.0) return std::nullopt;
    // One nanosecond more than computed: rounding must not wake the driver just before the credit is earned.
    const double wait_ns = std::ceil(missing / rate_.bytes_per_second() * 1e9) + 1.0;
    return now + Duration(static_cast<Duration::rep>(wait_ns));
}

}  // namespace udtx::congestion
