// Prints the output at the end of a run, and sets the exit code if printing fails.
#pragma once

#include <string>
#include <string_view>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "observe/final_report.hpp"

namespace udtx::apps {

/// Prints to standard output. If that fails, logs an error and turns success into file_io.
[[nodiscard]] ExitCode print_output(Log& log, std::string_view text, ExitCode code);
/// Ends a run that has not started: prints one line, and the object of --json if `json`.
[[nodiscard]] ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json);
/// Turns success into file_io if the log could not be written.
void check_log(Log& log, FinalReport& report);

}  // namespace udtx::apps
