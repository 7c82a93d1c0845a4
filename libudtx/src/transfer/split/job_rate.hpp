// How the shards of a job share one rate, without anybody above them: each writes what it could use and what it claims,
// and the claims never exceed the rate.
//
// - A 64th of the rate is kept back, in equal parts: every shard may use its part at any time.
// - The rest is shared max-min fairly by demand. A shard that uses 85 % of what it may use demands all of it. Other
//   shards demand 1.3 times what they use.
// - A shard raises its claim only by what no living shard claims. A lower claim counts after 0.6 s: until then the
//   sender may not know it.
// - If runs were started with different rates, the lowest of the living ones holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "udtx/time.hpp"
#include "udtx/transfer/job_shard.hpp"

namespace udtx::transfer {

/// What a run of a shard tells the others of itself. Rates are in bits per second.
struct ShardSlot {
    enum class State : std::uint64_t { none, running, done, failed };
    std::uint64_t run = 0;   ///< tells runs of a shard apart; 0: there was none
    std::uint64_t beat = 0;  ///< grows as long as it lives
    State state = State::none;
    std::uint64_t limit = 0;   ///< of the whole job, as this run was told; 0: none
    std::uint64_t claim = 0;   ///< no other shard takes that
    std::uint64_t demand = 0;  ///< what it could use
    std::uint64_t rate = 0;    ///< what came of it of late
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;  ///< known so far
    std::uint64_t files_done = 0;   ///< a part of a file counts as one
    std::uint64_t failures = 0;     ///< entries
    friend bool operator==(const ShardSlot&, const ShardSlot&) noexcept = default;
};

/// Between two turns of a shard.
inline constexpr Duration kShardTurn = std::chrono::milliseconds(250);
/// Rates that come are averages over about so long, since datagrams come in bursts.
inline constexpr Duration kShardRateTime = std::chrono::seconds(1);
/// A shard that has not changed its slot for so long is dead: what it claims is free.
inline constexpr Duration kShardLease = std::chrono::milliseconds(2500);

/// What a shard may send at any time, in bits per second: all of them together a small part of the job's rate.
[[nodiscard]] std::uint64_t least_share(const JobShard& shard) noexcept;

/// Which shards still live, as one of them sees it by its own clock.
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

/// One shard's part in it. Sans I/O.
class RateClaim {
  public:
    /// The job has a rate.
    explicit RateClaim(const JobShard& shard);

    /// Once each kShardTurn, with nobody else's turn at the same time. `slots`: of all shards; our own gets claim and
    /// demand. `rate`: what came lately. What this shard may send from now on.
    [[nodiscard]] std::uint64_t turn(Instant now, std::vector<ShardSlot>& slots, const std::vector<bool>& alive,
                                     std::uint64_t rate);

  private:
    /// The least and the largest of the caps that may be in force.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> in_force(Instant now);
    /// What came is about what could come.
    [[nodiscard]] bool uses_all(Instant now, double rate);

    const JobShard shard_;
    const std::uint64_t least_;
    std::optional<Instant> first_turn_{};
    Instant last_turn_{};
    double could_come_ = 0;                                  // caps in force, averaged as rates are
    std::uint64_t cap_ = 0;                                  // beside least_
    std::deque<std::pair<Instant, std::uint64_t>> earlier_;  // caps, and until when they were said
};

/// Max-min fair: nobody gets more than it could use, and what is left is shared equally.
[[nodiscard]] std::uint64_t fair_share(std::uint64_t budget, std::vector<std::uint64_t> demands, std::uint64_t own);

}  // namespace udtx::transfer
