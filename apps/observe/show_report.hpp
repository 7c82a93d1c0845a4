// The lines that a tool prints at the end of a transfer.
#pragma once

#include <string>

#include "common/log.hpp"
#include "observe/final_report.hpp"

namespace udtx::apps {

struct ShowOptions {
    std::string from;                      ///< put before each line: names the transfer
    const char* failed = "not delivered";  ///< put before each file that failed
    bool verbose = false;                  ///< lists all failures
    bool stats = false;                    ///< prints all figures
    bool transport = true;                 ///< prints the line about the path; otherwise only with -v
};

/// Prints warnings, single failures, the summary, and the error as the last line.
void show_report(Log& log, const FinalReport& report, const ShowOptions& options);
/// Addition to the error line of an aborted transfer: says that the same command continues, if so. `interrupted`: a
/// signal ended this side.
[[nodiscard]] std::string how_to_go_on(const transfer::Outcome& outcome, bool interrupted);
/// The error line of a transfer that delivered some entries but not all. `quiet`: this line is the only output.
[[nodiscard]] std::string partial_message(const FinalReport& report, const char* failed, bool quiet);

}  // namespace udtx::apps
