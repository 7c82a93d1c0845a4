// Pushes or pulls a set of files again and again. Every run except the last is interrupted: by an outage of ten
// minutes, or by the user at either end. The line is virtual, but the disk threads are real. Therefore the same seed
// gives the same files, line and interruptions, but not the same packets. The episode checks these rules:
//
//  1. A file under its final name is always complete; a growing file is as it was at some time.
//  2. An end reports "done" only if every file has arrived; otherwise it reports why it ended.
//  3. The same command completes the transfer, and does not send complete files again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "soak/episode.hpp"

namespace udtx::soak {

struct FilesOutcome {
    std::vector<std::string> violations;
    std::string history;
    Duration lasted{};
    std::uint64_t bytes = 0;
    std::uint64_t events = 0;
    unsigned outages = 0;  ///< outages of ten minutes after which the transfer was resumed
};

/// Every eighth seed is an episode with files.
inline constexpr std::uint64_t kFilesEvery = 8;

[[nodiscard]] FilesOutcome run_files(std::uint64_t seed);

}  // namespace udtx::soak
