// How a run ends: what is printed, and what becomes of its code when that cannot be.
#pragma once

#include <string>
#include <string_view>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "observe/final_report.hpp"

namespace udtx::apps {

/// To standard output. When it cannot be written, says so and turns success into file_io.
[[nodiscard]] ExitCode print_output(Log& log, std::string_view text, ExitCode code);
/// Ends a run that has not begun: one line, and the object of --json if it is wanted.
[[nodiscard]] ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json);
/// A log that could not be written turns success into file_io.
void check_log(Log& log, FinalReport& report);

}  // namespace udtx::apps
