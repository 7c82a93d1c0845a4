// One of the transfers that move one tree together.
#pragma once

#include <cstddef>
#include <cstdint>

namespace udtx::transfer {

inline constexpr std::size_t kMaxShards = 4096;  ///< most shards of one job

/// What each of them tells the end that writes: the files that several fill get their names once, whoever is last, and
/// all have to cut the tree alike.
struct JobShard {
    std::uint64_t job = 0;              ///< job_number(): the same for all of them
    std::size_t index = 0;              ///< from 0
    std::size_t count = 1;              ///< of all of them, at most kMaxShards
    std::uint64_t split = 0;            ///< Split::digest() of what cuts the tree
    std::uint64_t bits_per_second = 0;  ///< that all of them together may take; 0: as much as they can
    /// Member by member.
    friend bool operator==(const JobShard&, const JobShard&) noexcept = default;
};

}  // namespace udtx::transfer
