// How the shards of a job share one rate without a coordinator. Each shard writes its demand and its claim, and the
// claims never exceed the rate.
//
// - A 64th of the rate is reserved, in equal parts: every shard may use its part at any time.
// - The rest is shared max-min fairly by demand. A shard that uses 85 % of its allowed rate demands all of it. Other
//   shards demand 1.3 times the rate that they use.
// - A shard raises its claim only by what no living shard claims. A lower claim counts after 0.6 s: until then the
//   sender may not know it.
// - If runs were started with different rates, the lowest rate of the living runs holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "udtx/rate.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// What a run of a shard tells the other shards about itself. Rates are in bits per second.
struct ShardSlot {
    enum class State : std::uint64_t { none, running, done, failed };
    std::uint64_t run = 0;   ///< number of the run of this shard; 0: there was none
    std::uint64_t beat = 0;  ///< grows as long as the run lives
    State state = State::none;
    std::uint64_t limit = 0;   ///< rate of the whole job, as this run was told; 0: none
    std::uint64_t claim = 0;   ///< no other shard takes that
    std::uint64_t demand = 0;  ///< what it could use
    std::uint64_t rate = 0;    ///< its recent rate
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;  ///< known so far
    std::uint64_t files_done = 0;   ///< a part of a file counts as one
    std::uint64_t failures = 0;     ///< entries
    static void fields(auto& io, auto& slot) {
        io.u64(slot.run, slot.beat, slot.state, slot.limit, slot.claim, slot.demand, slot.rate, slot.bytes_done,
               slot.bytes_total, slot.files_done, slot.failures);
    }
    friend bool operator==(const ShardSlot&, const ShardSlot&) noexcept = default;
};

/// Interval between two turns of a shard.
inline constexpr Duration kShardTurn = std::chrono::milliseconds(250);
/// Received rates are averages over about this time, since datagrams arrive in bursts.
inline constexpr Duration kShardRateTime = std::chrono::seconds(1);
/// A shard that has not changed its slot for this time is dead, and its claim is free.
inline constexpr Duration kShardLease = std::chrono::milliseconds(2500);

/// Rate that a shard may send at any time, in bits per second. All of them together are a small part of the job's rate.
[[nodiscard]] std::uint64_t least_share(const JobShard& shard) noexcept;

/// Tells which shards still live, as one of them sees it by its own clock.
class ShardLives {
  public:
    [[nodiscard]] std::vector<bool> look(Instant now, const std::vector<ShardSlot>& slots);

  private:
    struct Seen {
        std::uint64_t run = 0;
        std::uint64_t beat = 0;
        Instant since;
    };
    std::vector<Seen> seen_;
};

/// One shard's share of the job's rate. Sans I/O.
class RateClaim {
  public:
    /// `shard` has a rate.
    explicit RateClaim(const JobShard& shard);

    /// Call it once each kShardTurn, and never during another shard's turn. `slots`: of all shards; it sets claim and
    /// demand of our own. `rate`: the rate received lately. Returns the rate that this shard may send from now on.
    [[nodiscard]] std::uint64_t turn(Instant now, std::vector<ShardSlot>& slots, const std::vector<bool>& alive,
                                     std::uint64_t rate);

  private:
    /// The lowest and the highest of the caps that may be in force.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> in_force(Instant now);
    /// True if the received rate is close to the rate that was allowed.
    [[nodiscard]] bool uses_all(Instant now, double rate);

    const JobShard shard_;
    const std::uint64_t least_;
    std::optional<Instant> first_turn_{};
    Instant last_turn_{};
    double could_come_ = 0;                                  // caps in force, averaged as rates are
    std::uint64_t cap_ = 0;                                  // from the shared rest; least_ is always allowed
    std::deque<std::pair<Instant, std::uint64_t>> earlier_;  // earlier caps, each with the time when it was replaced
};

/// Max-min fair share: at most what the shard could use, with the rest divided equally.
[[nodiscard]] std::uint64_t fair_share(std::uint64_t budget, std::vector<std::uint64_t> demands, std::uint64_t own);

}  // namespace udtx::transfer
