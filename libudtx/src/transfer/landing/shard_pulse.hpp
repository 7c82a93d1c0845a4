// Exchanges the state of a shard with the other shards of its job. It finds the shard's part of the job's rate and the
// progress of all shards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/shard/job_file.hpp"
#include "transfer/shard/job_rate.hpp"

namespace udtx::transfer {

class ShardPulse {
  public:
    /// `links` and `job` must outlive this object. `run`: not 0, and different for each run.
    ShardPulse(JobFile& job, const JobShard& shard, const LandingLinks& links, std::uint64_t run);
    /// Reports to the others that this run is over.
    ~ShardPulse();
    ShardPulse(const ShardPulse&) = delete;
    ShardPulse& operator=(const ShardPulse&) = delete;

    /// Reports that everything has been delivered. Must not be called within its own task.
    void finish();

  private:
    [[nodiscard]] DiskStep step();
    void fill_in(ShardSlot& own);
    void turn(std::vector<ShardSlot>& slots);
    void tell(const std::vector<ShardSlot>& slots, const std::vector<bool>& alive);
    void measure(Instant now);
    void end(ShardSlot::State state);

    JobFile& job_;
    const JobShard shard_;
    const LandingLinks& links_;
    const std::uint64_t run_;
    ShardLives lives_;
    std::optional<RateClaim> claim_;
    std::uint64_t beat_ = 0;
    std::uint64_t share_ = 0;  // as reported last
    std::uint64_t arrived_ = 0;
    std::optional<Instant> measured_;
    double bits_per_second_ = 0;
    bool ended_ = false;
    DiskTask task_;  // last: it uses the members above
};

}  // namespace udtx::transfer
