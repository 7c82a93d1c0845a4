// One of several transfers that move one tree together: a shard of a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace udtx::transfer {

inline constexpr std::size_t kMaxShards = 4096;  ///< limit of the shards of one job

/// What a part of a tree contains, as counted when the plan was made. A host that finds something else in its part sees
/// another tree, for example because a mount is missing.
struct ShardContent {
    std::uint64_t entries = 0;  ///< number of files, links and directories in the part
    std::uint64_t bytes = 0;    ///< sizes of the files and parts of files, including holes
    std::uint64_t names = 0;    ///< a hash of all paths, whatever their order
    /// Compares all members.
    friend bool operator==(const ShardContent&, const ShardContent&) noexcept = default;
};

/// The data that each shard sends to the receiver. The receiver uses it to rename a file that several shards fill once,
/// after the last of them, and to check that all shards cut the tree in the same way.
struct JobShard {
    std::uint64_t job = 0;              ///< job_number(), the same for all shards of the job
    std::size_t index = 0;              ///< index of this shard, from 0
    std::size_t count = 1;              ///< number of shards, at most kMaxShards
    std::uint64_t split = 0;            ///< Split::digest() of the cuts of the tree
    std::uint64_t bits_per_second = 0;  ///< rate limit of all shards together; 0: no limit
    std::uint64_t selection = 0;        ///< selection_number(): shards that select other entries are refused
    /// The run of the job that an earlier connection of this transfer met, see JobState::run; 0: none. The receiver
    /// refuses a shard that meets another one, because data of the earlier one may be gone.
    std::uint64_t run = 0;
    /// The run in which an earlier transfer of this shard has delivered everything, see JobState::run; 0: none. If the
    /// receiver no longer has the job and finds every entry unchanged, that run stays valid and no other one begins.
    std::uint64_t delivered_run = 0;
    std::optional<ShardContent> content{};  ///< of the plan; the transfer fails if the sources have something else
    /// Compares all members.
    friend bool operator==(const JobShard&, const JobShard&) noexcept = default;
};

}  // namespace udtx::transfer
