// Finds what slows transfers down on this host: network, timers, clock, processor, disk.
#pragma once

#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "doctor/findings.hpp"
#include "options/subcommands.hpp"

namespace udtx::apps {

[[nodiscard]] std::vector<Finding> examine_host(const DoctorCommand& command);
/// Prints the findings on standard output. Returns the exit code.
[[nodiscard]] ExitCode show_host(Log& log, const DoctorCommand& command);

}  // namespace udtx::apps
