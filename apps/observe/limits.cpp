#include "observe/limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace udtx::apps {
namespace {

using Names = std::array<const char*, kLimits>;
constexpr Names kNames{"sender_disk", "input",      "receiver_disk", "receive_window", "network",   "path_loss",
                       "rate_cap",    "sender_cpu", "receiver_cpu",  "small_data",     "elsewhere", "outage"};
constexpr Names kTexts{"sender disk", "input pipe", "receiver disk", "receive window", "network",           "path loss",
                       "rate cap",    "sender CPU", "receiver CPU",  "small data",     "sender or network", "outage"};
/// Factor per tick by which older packet counts fade. At ten ticks a second, about the last second counts.
constexpr double kFading = 0.9;
constexpr double kEnoughPackets = 50.0;
/// A flush that takes longer than this plus a round trip is slow because of the receiver's disk.
constexpr Duration kQuickFlush = std::chrono::milliseconds(50);

double part(Duration some, Duration whole) { return to_seconds(some) / to_seconds(whole); }

/// What held bytes back for most of the tick. Time since the hold times were last updated counts for the present hold.
SendHold longest_hold(const LimitSample& from, const LimitSample& to, Duration time) {
    HoldTimes spent{};
    Duration rest = time;
    for (std::size_t i = 0; i < spent.size(); ++i) {
        spent[i] = to.held[i] - from.held[i];
        rest -= spent[i];
    }
    if (rest > Duration::zero()) spent[static_cast<std::size_t>(to.hold)] += rest;
    return static_cast<SendHold>(std::max_element(spent.begin(), spent.end()) - spent.begin());
}

std::string percent(double share) { return std::to_string(std::lround(share * 100.0)) + " %"; }

}  // namespace

const char* name_of(Limit limit) noexcept { return kNames[static_cast<std::size_t>(limit)]; }
std::string_view text_of(Limit limit) noexcept { return kTexts[static_cast<std::size_t>(limit)]; }

std::string limit_line(const std::vector<LimitShare>& shares) {
    constexpr std::size_t kListed = 3;
    std::string line;
    for (std::size_t i = 0; i < std::min(shares.size(), kListed); ++i) {
        line += (i == 0 ? "limited by: " : ", ") + std::string(text_of(shares[i].limit)) + " " +
                percent(shares[i].share) + (i == 0 ? " of the time" : "");
    }
    return line;
}

void LimitMeter::sample(const LimitSample& sample) {
    const bool flushing = sample.phase == transfer::Phase::flush || sample.phase == transfer::Phase::verify;
    if (flushing && !all_sent_at_) all_sent_at_ = sample.at;
    if (sample.at > last_.at) {
        const Duration time = sample.at - last_.at;
        const bool stopped = last_.at > Duration::zero() && time >= kStopped;
        now_ = sample.outage || stopped ? Limit::outage : sends_ ? of_sender(sample, time) : of_receiver(sample, time);
        count(sample, time);
    }
    last_ = sample;
}

void LimitMeter::begin_connection() {
    const Duration at = last_.at;
    last_ = {};
    last_.at = at;
    all_sent_at_.reset();
}

void LimitMeter::count(const LimitSample& sample, Duration time) {
    const auto limit = static_cast<std::size_t>(*now_);
    if (!sample.outage && sample.unanswered) {
        unanswered_[limit] += time;
        return;
    }
    // If the peer has answered, the unanswered time counts for its own limits. In an outage all of it counts as outage.
    for (std::size_t i = 0; i < kLimits; ++i) time_[sample.outage ? limit : i] += std::exchange(unanswered_[i], {});
    time_[limit] += time;
}

Limit LimitMeter::of_sender(const LimitSample& s, Duration time) {
    const LimitSample& before = last_;
    recent_sent_ = recent_sent_ * kFading + static_cast<double>(s.sent_packets - before.sent_packets);
    recent_lost_ = recent_lost_ * kFading + static_cast<double>(s.lost_packets - before.lost_packets);
    const bool busy = part(s.protocol - before.protocol, time) >= kBusy;
    const bool receiver_busy = s.receiver && s.receiver->cpu >= kBusy;
    switch (longest_hold(before, s, time)) {
        case SendHold::application:
            return without_data(s, part(s.others - before.others, time));
        case SendHold::credit:
            if (receiver_busy) return Limit::receiver_cpu;
            return s.receiver && s.receiver->disk < kSpare ? Limit::receive_window : Limit::receiver_disk;
        case SendHold::cap:
            return Limit::rate_cap;
        case SendHold::host:
            // Data may be sent, but this host has no time for it, or its interface does not accept it.
            return part(s.protocol - before.protocol, time) >= 0.5 ? Limit::sender_cpu : Limit::network;
        case SendHold::network:
            break;
    }
    if (busy) return Limit::sender_cpu;
    if (receiver_busy) return Limit::receiver_cpu;
    const bool lossy = recent_sent_ >= kEnoughPackets && recent_lost_ >= kLossyShare * recent_sent_;
    return lossy ? Limit::path_loss : Limit::network;
}

Limit LimitMeter::without_data(const LimitSample& s, double others) const {
    if (s.phase == transfer::Phase::transfer && !s.source_read) {
        if (s.streaming) return Limit::input;
        return others >= kBusy ? Limit::sender_cpu : Limit::sender_disk;
    }
    const bool slow = all_sent_at_ && s.at - *all_sent_at_ > s.rtt + kQuickFlush;
    return slow ? Limit::receiver_disk : Limit::small_data;
}

Limit LimitMeter::of_receiver(const LimitSample& s, Duration time) const {
    if (part(s.writing - last_.writing, time) >= kBusy) return Limit::receiver_disk;
    if (part(s.protocol - last_.protocol, time) >= kBusy) return Limit::receiver_cpu;
    return Limit::elsewhere;
}

std::vector<LimitShare> LimitMeter::shares() const {
    std::array<Duration, kLimits> times = time_;
    Duration all{};
    for (std::size_t i = 0; i < kLimits; ++i) all += times[i] += unanswered_[i];
    std::vector<LimitShare> out;
    if (all <= Duration::zero()) return out;
    for (std::size_t i = 0; i < kLimits; ++i) {
        const double share = part(times[i], all);
        if (share >= 0.005) out.push_back({static_cast<Limit>(i), share});
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
    return out;
}

}  // namespace udtx::apps
