// Finds what slows transfers down, and the commands that fix it.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "options/subcommands.hpp"

namespace udtx::apps {

struct Finding {
    bool good = true;
    std::string what;      ///< "UDP buffers: receive 208 KiB, send 208 KiB"
    std::string remedy{};  ///< a command or a piece of advice; empty when all is well
    /// The exit code of a transfer with this fault. It is ok if the fault only slows transfers.
    ExitCode code = ExitCode::ok;
};

/// The first code that is not ok.
[[nodiscard]] ExitCode code_of(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_json(const std::vector<Finding>& findings);

// Finds what slows transfers down in this host's network: socket buffers, offloads, MTU.

[[nodiscard]] std::vector<Finding> examine_network();

// Measures the speed of a directory's disk, or reports why writing fails.

/// Writes and reads a temporary file for a few seconds at most.
[[nodiscard]] std::vector<Finding> examine_disk(const std::string& directory);

// Finds what slows transfers down on this host: network, timers, clock, processor, disk.

[[nodiscard]] std::vector<Finding> examine_host(const DoctorCommand& command);
/// Prints the findings on standard output. Returns the exit code.
[[nodiscard]] ExitCode show_host(Log& log, const DoctorCommand& command);

}  // namespace udtx::apps
