#include "transfer/landing/shard_pulse.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

namespace udtx::transfer {

namespace {

Instant pulse_now() {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

/// The seconds that a shard still needs.
double left_of(const ShardSlot& slot) {
    const std::uint64_t bytes = slot.bytes_total - std::min(slot.bytes_total, slot.bytes_done);
    return static_cast<double>(bytes) * 8 / static_cast<double>(std::max<std::uint64_t>(slot.rate, 1));
}

}  // namespace

ShardPulse::ShardPulse(JobFile& job, const JobShard& shard, const LandingLinks& links, std::uint64_t run)
    : job_(job),
      shard_(shard),
      links_(links),
      run_(run),
      task_(
          disk_pools().sync, [this] { return step(); },
          [this](const Error& error) {
              links_.fatal(error);
              return DiskStep::over();
          }) {
    if (shard.bits_per_second > 0) claim_.emplace(shard);
    task_.wake();
}

ShardPulse::~ShardPulse() {
    try {
        end(ShardSlot::State::failed);
    } catch (const std::exception&) {
        // The others notice that this shard no longer reports.
    }
}

void ShardPulse::finish() { end(ShardSlot::State::done); }

void ShardPulse::end(ShardSlot::State state) {
    if (std::exchange(ended_, true)) return;
    task_.end();
    static_cast<void>(job_.exchange([&](std::vector<ShardSlot>& slots) {
        ShardSlot& own = slots[shard_.index];
        // A newer run of this shard may have begun.
        if (own.run != run_ && own.run != 0) return;
        fill_in(own);
        own.state = state;
        own.claim = own.demand = own.rate = 0;
        tell(slots, lives_.look(pulse_now(), slots));
    }));
}

void ShardPulse::fill_in(ShardSlot& own) {
    own.run = run_;
    own.beat = ++beat_;
    own.state = ShardSlot::State::running;
    own.rate = static_cast<std::uint64_t>(bits_per_second_);
    links_.report.edit([&](const Progress& progress, const Outcome& outcome) {
        own.bytes_done = progress.bytes_done + outcome.kept_bytes;
        own.bytes_total = progress.bytes_total + outcome.kept_bytes;
        own.files_done = outcome.files + outcome.unchanged + outcome.skipped;
        own.failures = outcome.failed_count;
    });
}

void ShardPulse::measure(Instant now) {
    const std::uint64_t arrived = links_.feedback.arrived();
    if (measured_ && now > *measured_) {
        const double passed = to_seconds(now - *measured_);
        const double rate = static_cast<double>(arrived - arrived_) * 8 / passed;
        const double weight = 1 - std::exp(-passed / to_seconds(kShardRateTime));
        bits_per_second_ += weight * (rate - bits_per_second_);
    }
    measured_ = now;
    arrived_ = arrived;
}

DiskStep ShardPulse::step() {
    const auto exchanged = job_.exchange([this](std::vector<ShardSlot>& slots) { turn(slots); });
    // A shard that does not know the rates of the others must not continue to use the job's rate.
    if (!exchanged && claim_) links_.fatal(exchanged.error());
    const auto next = std::chrono::duration_cast<std::chrono::milliseconds>(kShardTurn);
    return DiskStep::rest_for(claim_ ? next : 4 * next);
}

void ShardPulse::turn(std::vector<ShardSlot>& slots) {
    const Instant now = pulse_now();
    measure(now);
    fill_in(slots[shard_.index]);
    const std::vector<bool> alive = lives_.look(now, slots);
    if (claim_) {
        const std::uint64_t share = claim_->turn(now, slots, alive, static_cast<std::uint64_t>(bits_per_second_));
        if (share != share_) {
            share_ = share;
            links_.feedback.edit([&](ReceiveFeedback::News& news) { news.share = message::Share{share}; });
        }
    }
    tell(slots, alive);
}

void ShardPulse::tell(const std::vector<ShardSlot>& slots, const std::vector<bool>& alive) {
    JobProgress all;
    all.job = shard_.job;
    all.index = shard_.index;
    all.count = shard_.count;
    double longest = -1;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const ShardSlot& slot = slots[i];
        if (slot.run == 0) continue;
        if (slot.state == ShardSlot::State::done) {
            ++all.done;
        } else if (alive[i]) {
            ++all.running;
            all.bits_per_second += slot.rate;
            if (left_of(slot) > longest) {
                longest = left_of(slot);
                all.slowest = i;
            }
        } else {
            ++all.failed;
        }
        add_up(all.bytes_done, slot.bytes_done);
        add_up(all.bytes_total, slot.bytes_total);
        all.files_done += slot.files_done;
        all.failures += slot.failures;
    }
    links_.report.edit([&](Progress& progress, Outcome&) { progress.job = all; });
}

}  // namespace udtx::transfer
