// A set of files, sent or fetched again and again, and interrupted each time but the last: by an outage of ten minutes,
// by the user at either end. The line is virtual, the disk threads are real, so that the same seed has the same files,
// line and interruptions, but not the same run, packet by packet. It must be true that
//
//  - a file under its final name is whole at any time; one that grows is as it was at some time
//  - an end says "done" only when all is there, and otherwise says what ended it
//  - the same command completes, and sends nothing again of what was complete
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
    unsigned outages = 0;  ///< of ten minutes, that were resumed
};

/// Every so many seeds is one of those.
inline constexpr std::uint64_t kFilesEvery = 8;

[[nodiscard]] FilesOutcome run_files(std::uint64_t seed);

}  // namespace udtx::soak
