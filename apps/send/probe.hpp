// --probe-only: measures the path to a receiver.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "observe/final_report.hpp"
#include "observe/observer.hpp"
#include "options/commands.hpp"
#include "udtx/stats.hpp"

namespace udtx::apps {

struct PathProbe {
    std::optional<Error> error;  ///< explained for the user
    std::optional<Duration> handshake;
    std::optional<ConnectionStats> stats;
    Rate reached;         ///< over the last two seconds
    bool gentle = false;  ///< the load was gentle, so `reached` is not the capacity of the path
    std::vector<LimitShare> limits;
    std::string buffer_advice;
    bool heard = false;                          ///< over ssh: the remote end received datagrams
    std::optional<LocalInterface> interface {};  ///< that of the first path
    std::optional<Duration> clock_ahead;  ///< of the remote clock against this one; the error is about ssh's delay
};
enum class ProbeLoad {
    full,    ///< as much as the path carries, up to --rate
    touch,   ///< gentle, for a second: only whether the way passes
    gentle,  ///< without --rate: a twentieth of the rate that packet pairs measure, 500 kbit/s to 5 Mbit/s
};
/// Probes the path to a listening receiver; over ssh it starts a receiver for the probe.
[[nodiscard]] PathProbe probe_path(const SendCommand& command, const Run& run, ProbeLoad load);

[[nodiscard]] std::vector<std::string> describe(const PathProbe& probe);
[[nodiscard]] Json to_json(const PathProbe& probe);

/// Prints the result as lines or as JSON. Returns the exit code.
[[nodiscard]] ExitCode show_probe(const Run& run, const PathProbe& probe, bool json);

}  // namespace udtx::apps
