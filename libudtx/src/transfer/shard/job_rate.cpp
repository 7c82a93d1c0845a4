#include "transfer/shard/job_rate.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::transfer {

namespace {

// All shards together get one 64th of the rate, to start and while they wait.
constexpr std::uint64_t kForBeginnings = 64;
// A shard that uses this much of its cap could use more.
constexpr double kUsesAll = 0.85;
// A shard that uses less keeps some room to grow.
constexpr double kRoomToGrow = 1.3;
// Time until a lower cap has reached the sender and the data sent before it has arrived.
constexpr Duration kUntilInForce = std::chrono::milliseconds(600);

}  // namespace

std::uint64_t least_share(const JobShard& shard) noexcept {
    return std::max<std::uint64_t>(shard.bits_per_second / (kForBeginnings * shard.count), 1);
}

std::uint64_t fair_share(std::uint64_t budget, std::vector<std::uint64_t> demands, std::uint64_t own) {
    std::ranges::sort(demands);
    std::uint64_t left = budget;
    for (std::size_t i = 0; i < demands.size(); ++i) {
        const std::uint64_t equal = left / (demands.size() - i);
        if (demands[i] >= equal) return std::min(own, equal);
        left -= demands[i];
    }
    return own;
}

std::vector<bool> ShardLives::look(Instant now, const std::vector<ShardSlot>& slots) {
    std::vector<bool> alive(slots.size(), false);
    seen_.resize(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Seen& seen = seen_[i];
        if (slots[i].run != seen.run || slots[i].beat != seen.beat) seen = {slots[i].run, slots[i].beat, now};
        alive[i] = slots[i].run != 0 && slots[i].state == ShardSlot::State::running && now - seen.since < kShardLease;
    }
    return alive;
}

RateClaim::RateClaim(const JobShard& shard) : shard_(shard), least_(least_share(shard)) {}

std::pair<std::uint64_t, std::uint64_t> RateClaim::in_force(Instant now) {
    while (!earlier_.empty() && now - earlier_.front().first >= kUntilInForce) earlier_.pop_front();
    std::pair<std::uint64_t, std::uint64_t> range{cap_, cap_};
    for (const auto& [until, cap] : earlier_) {
        range = {std::min(range.first, cap), std::max(range.second, cap)};
    }
    return range;
}

bool RateClaim::uses_all(Instant now, double rate) {
    if (!first_turn_) first_turn_ = last_turn_ = now;
    const double weight = 1 - std::exp(-to_seconds(now - last_turn_) / to_seconds(kShardRateTime));
    last_turn_ = now;
    could_come_ += weight * (static_cast<double>(std::max(in_force(now).first, least_)) - could_come_);
    return now - *first_turn_ < 2 * kShardRateTime || rate >= kUsesAll * could_come_;
}

std::uint64_t RateClaim::turn(Instant now, std::vector<ShardSlot>& slots, const std::vector<bool>& alive,
                              std::uint64_t rate) {
    ShardSlot& own = slots[shard_.index];
    own.limit = shard_.bits_per_second;
    // If runs were told different limits, the lowest one holds.
    std::uint64_t limit = own.limit;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (alive[i] && slots[i].limit > 0) limit = std::min(limit, slots[i].limit);
    }
    const std::uint64_t budget = limit - std::min(limit, least_ * shard_.count);
    const auto measured = static_cast<double>(rate);
    const bool hungry = uses_all(now, measured);
    own.demand = hungry ? budget : std::min(budget, static_cast<std::uint64_t>(kRoomToGrow * measured));
    std::vector<std::uint64_t> demands{own.demand};
    std::uint64_t claimed = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (i == shard_.index || !alive[i]) continue;
        demands.push_back(slots[i].demand);
        claimed += slots[i].claim;
    }
    const std::uint64_t share = fair_share(budget, std::move(demands), own.demand);
    const std::uint64_t held = in_force(now).second;
    const std::uint64_t free = budget - std::min(budget, claimed);
    const std::uint64_t next = std::min(share, std::max(held, free));
    if (next != cap_) earlier_.emplace_back(now, cap_);
    cap_ = next;
    own.claim = in_force(now).second;
    return std::max(cap_, least_);
}

}  // namespace udtx::transfer
