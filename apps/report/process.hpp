// Small things that the main functions of both tools need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "report/final_report.hpp"

namespace udtx::apps {

/// Keys live in this process's memory. Builds with assertions keep their core dumps.
void forbid_core_dumps() noexcept;
/// To standard output. When it cannot be written, says so and turns success into file_io.
[[nodiscard]] ExitCode print_output(Log& log, std::string_view text, ExitCode code);
/// Ends a run that has not begun: one line, and the object of --json if it is wanted.
[[nodiscard]] ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json);
/// A log that could not be written turns success into file_io.
void check_log(Log& log, FinalReport& report);
[[nodiscard]] const char* program_version() noexcept;
/// For runs that fail before the command line is understood.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
