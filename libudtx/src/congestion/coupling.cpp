#include "congestion/coupling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace udtx::congestion {

namespace {

constexpr double kLeastDeviation = 0.5e-3;  // s: less is noise of clocks and threads
constexpr double kMostHoles = 0.2;          // of the slots

}  // namespace

void DelayTrace::add(Instant now, double delay) {
    const std::int64_t index = now.time_since_epoch() / kSlot;
    Slot& slot = slots_[static_cast<std::size_t>(index % kKept)];
    if (slot.index != index) slot = {index, 0.0, 0};
    slot.sum += delay;
    ++slot.count;
}

// Pearson's coefficient of the slots that both traces have. Slot i of `a` is compared with slot i + `lag` of `b`.
double DelayTrace::correlation(const DelayTrace& a, const DelayTrace& b, std::int64_t end, std::int64_t lag) {
    double n = 0.0;
    double sa = 0.0;
    double sb = 0.0;
    double saa = 0.0;
    double sbb = 0.0;
    double sab = 0.0;
    // Delays count relative to the first value: one-way delays are large if the clocks differ.
    std::optional<double> zero_a;
    double zero_b = 0.0;
    for (std::int64_t i = end - kSlots; i < end; ++i) {
        const Slot& slot_a = a.at(i);
        const Slot& slot_b = b.at(i + lag);
        if (slot_a.index != i || slot_b.index != i + lag) continue;
        const double mean_a = slot_a.sum / slot_a.count;
        const double mean_b = slot_b.sum / slot_b.count;
        if (!zero_a) {
            zero_a = mean_a;
            zero_b = mean_b;
        }
        const double x = mean_a - *zero_a;
        const double y = mean_b - zero_b;
        n += 1.0;
        sa += x;
        sb += y;
        saa += x * x;
        sbb += y * y;
        sab += x * y;
    }
    if (n < (1.0 - kMostHoles) * static_cast<double>(kSlots)) return 0.0;
    const double variance_a = saa / n - (sa / n) * (sa / n);
    const double variance_b = sbb / n - (sb / n) * (sb / n);
    if (std::min(variance_a, variance_b) < kLeastDeviation * kLeastDeviation) return 0.0;
    return (sab / n - sa / n * (sb / n)) / std::sqrt(variance_a * variance_b);
}

double DelayTrace::correlation(const DelayTrace& a, const DelayTrace& b, Instant now) {
    const std::int64_t end = now.time_since_epoch() / kSlot - kLags;
    if (end < kSlots + kLags) return 0.0;
    double best = 0.0;
    for (std::int64_t lag = -kLags; lag <= kLags; ++lag) best = std::max(best, correlation(a, b, end, lag));
    return best;
}

CouplingGroup::Id CouplingGroup::join() {
    const auto free = std::find_if(members_.begin(), members_.end(), [](const Member& m) { return !m.open; });
    const auto id = static_cast<Id>(free - members_.begin());
    if (free == members_.end()) {
        members_.emplace_back();
        for (auto& row : shared_) row.push_back(false);
        shared_.emplace_back(members_.size(), false);
    } else {
        *free = Member{};
        for (Id other = 0; other < members_.size(); ++other) shared_[std::min(id, other)][std::max(id, other)] = false;
    }
    return id;
}

double CouplingGroup::total_window() const {
    double total = 0.0;
    for (const Member& m : members_) total += m.open ? m.window : 0.0;
    return total;
}

// alpha = cwnd_total max_i(cwnd_i/rtt_i^2) / (sum_i cwnd_i/rtt_i)^2 (RFC 6356, section 3).
double CouplingGroup::alpha() const {
    double best = 0.0;
    double sum = 0.0;
    for (const Member& m : members_) {
        if (!m.open || m.rtt <= 0.0) continue;
        best = std::max(best, m.window / (m.rtt * m.rtt));
        sum += m.window / m.rtt;
    }
    return sum > 0.0 ? total_window() * best / (sum * sum) : 1.0;
}

void CouplingGroup::compare(Instant now) {
    compared_ = now;
    for (Id a = 0; a < members_.size(); ++a) {
        for (Id b = a + 1; b < members_.size(); ++b) {
            const Member& first = members_[a];
            const Member& second = members_[b];
            const bool same =
                std::max(first.capacity, second.capacity) <= kSameCapacity * std::min(first.capacity, second.capacity);
            const double needed = shared_[a][b] ? kApart : kShared;
            shared_[a][b] = first.open && second.open && same && first.capacity > 0.0 &&
                            DelayTrace::correlation(first.trace, second.trace, now) >= needed;
        }
    }
}

std::size_t CouplingGroup::sharers(Id id, Instant now) {
    if (!compared_ || now - *compared_ >= kInterval) compare(now);
    std::size_t count = 1;
    for (Id other = 0; other < members_.size(); ++other) {
        if (other != id && shared_[std::min(id, other)][std::max(id, other)]) ++count;
    }
    return count;
}

void CoupledShare::on_sent(const CongestionSent& packet) {
    if (sharers_ == 1) return inner_->on_sent(packet);
    CongestionSent whole = packet;
    whole.in_flight_before *= sharers_;
    inner_->on_sent(whole);
}

void CoupledShare::measure(const CongestionFeedback& feedback) {
    auto& self = group_->member(id_);
    if (feedback.line && !feedback.line->capacity.is_zero()) {
        self.capacity = feedback.line->capacity.bytes_per_second();
    }
    if (feedback.arrivals.empty()) {
        if (feedback.one_way_delay) self.trace.add(feedback.now, to_seconds(*feedback.one_way_delay));
        return;
    }
    for (const ArrivalSample& sample : feedback.arrivals) self.trace.add(feedback.now, to_seconds(sample.delay));
}

// Bytes and rates are scaled to all sharers. Packet counts stay as they are, so that the loss ratio stays the same.
void CoupledShare::on_feedback(const CongestionFeedback& feedback) {
    measure(feedback);
    sharers_ = group_->sharers(id_, feedback.now);
    if (sharers_ == 1) {
        inner_->on_feedback(feedback);
        return;
    }
    const auto times = static_cast<double>(sharers_);
    whole_ = feedback;
    whole_.acked_bytes *= sharers_;
    whole_.in_flight_before *= sharers_;
    whole_.in_flight_after *= sharers_;
    // The peer may grant any number of bytes, so the product is limited.
    whole_.free_window = std::min(whole_.free_window, std::numeric_limits<std::uint64_t>::max() / sharers_) * sharers_;
    if (whole_.delivery) whole_.delivery->rate = whole_.delivery->rate * times;
    if (whole_.line) whole_.line->arrival_pps *= times;
    inner_->on_feedback(whole_);
}

void CoupledShare::on_limits(const PathLimits& limits) {
    datagram_bytes_ = limits.datagram_bytes;
    Around::on_limits(limits);
}

// The window leaves each path enough packets to continue measuring.
std::uint64_t CoupledShare::window() const {
    const std::uint64_t least = std::min<std::uint64_t>(inner_->window(), 2ULL * datagram_bytes_);
    return std::max(inner_->window() / sharers_, least);
}

}  // namespace udtx::congestion
