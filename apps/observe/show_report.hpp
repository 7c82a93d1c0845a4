// The lines that a tool prints at the end of a transfer.
#pragma once

#include <string>

#include "common/log.hpp"
#include "observe/final_report.hpp"

namespace udtx::apps {

struct ShowOptions {
    std::string from;                      ///< put before each line: of which transfer it speaks
    const char* failed = "not delivered";  ///< put before each file that failed
    bool verbose = false;                  ///< lists all failures, not just some
    bool stats = false;                    ///< all figures
    bool transport = true;                 ///< a line about the path; without, only with -v
};

/// Warnings, what failed one by one, the summary, and the error as the last line.
void show_report(Log& log, const FinalReport& report, const ShowOptions& options);
/// For the error line of a transfer that broke off: that the same command continues, where that is so. `interrupted`:
/// by a signal here.
[[nodiscard]] std::string how_to_go_on(const transfer::Outcome& outcome, bool interrupted);
/// The error line of a transfer that went through for some and not for all. `quiet`: nothing else is printed.
[[nodiscard]] std::string partial_message(const FinalReport& report, const char* failed, bool quiet);

}  // namespace udtx::apps
