// One of several transfers that move one tree together: a shard of a job.
#pragma once

#include <cstddef>
#include <cstdint>

namespace udtx::transfer {

inline constexpr std::size_t kMaxShards = 4096;  ///< limit of the shards of one job

/// The data that each shard sends to the receiver. The receiver uses it to rename a file that several shards fill once,
/// after the last of them, and to check that all shards cut the tree in the same way.
struct JobShard {
    std::uint64_t job = 0;              ///< job_number(), the same for all shards of the job
    std::size_t index = 0;              ///< index of this shard, from 0
    std::size_t count = 1;              ///< number of shards, at most kMaxShards
    std::uint64_t split = 0;            ///< Split::digest() of the cuts of the tree
    std::uint64_t bits_per_second = 0;  ///< rate limit of all shards together; 0: no limit
    /// Compares all members.
    friend bool operator==(const JobShard&, const JobShard&) noexcept = default;
};

}  // namespace udtx::transfer
