// Small things that the main functions of both tools need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/common_options.hpp"
#include "common/exit_codes.hpp"
#include "common/final_report.hpp"
#include "common/log.hpp"
#include "udtx/rate.hpp"

namespace udtx::apps {

/// Keys live in this process's memory. Builds with assertions keep their core dumps.
void forbid_core_dumps() noexcept;
/// To standard output. When it cannot be written, says so and turns success into file_io.
[[nodiscard]] ExitCode print_output(Log& log, std::string_view text, ExitCode code);
/// Ends a run that has not begun: one line, and the object of --json if it is wanted.
[[nodiscard]] ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json);
/// Of a run that ended before anything was exchanged.
[[nodiscard]] FinalReport never_began(const CommonOptions& options, const Error& error);
/// Opens the file of --log, if there is to be one.
[[nodiscard]] Result<void> open_log(Log& log, const CommonOptions& options);
/// A log that could not be written turns success into file_io.
void check_log(Log& log, FinalReport& report);
[[nodiscard]] const char* program_version() noexcept;
/// For runs that fail before the command line is understood.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);
/// "rate cap: 500 Mbit/s (62.5 MB/s)"
[[nodiscard]] std::string describe_rate_cap(Rate rate);

}  // namespace udtx::apps
