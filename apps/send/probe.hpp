// --probe-only: what the line to a receiver can do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/local_link.hpp"
#include "observe/limits.hpp"
#include "options/run.hpp"
#include "udtx/stats.hpp"

namespace udtx::apps {

struct PathProbe {
    std::optional<Error> error;  ///< explained for the user
    std::optional<Duration> handshake;
    std::optional<ConnectionStats> stats;
    Rate reached;         ///< of the last two seconds
    bool gentle = false;  ///< `reached` says nothing of what the line takes
    std::vector<LimitShare> limits;
    std::string buffer_advice;
    bool heard = false;                   ///< over ssh: datagrams came there
    std::optional<LocalLink> link{};      ///< that the first path leaves by
    std::optional<Duration> clock_ahead;  ///< of the other side's clock; as exact as ssh is quick
};
enum class ProbeLoad {
    full,    ///< what the line takes, up to --rate
    gentle,  ///< without --rate a twentieth of what packet pairs show of it, 500 kbit/s to 5 Mbit/s
};
/// To a receiver that listens; over ssh to one that is started for it.
[[nodiscard]] PathProbe probe_path(const SendRun& run, ProbeLoad load);

[[nodiscard]] std::vector<std::string> describe(const PathProbe& probe);
[[nodiscard]] std::string to_json(const PathProbe& probe);

/// Prints either, and gives the code to end with.
[[nodiscard]] ExitCode show_probe(const SendRun& run, const PathProbe& probe);

}  // namespace udtx::apps
