// What a tool says at the end of a run: exit code, summary lines, JSON object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "observe/limits.hpp"
#include "options/common_options.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

struct FinalReport {
    ExitCode code = ExitCode::ok;
    std::string error;  ///< empty when the code is ok
    transfer::Outcome outcome;
    transfer::Progress progress;           ///< the last one, for what was not delivered
    Duration elapsed{};                    ///< from the first packet to the confirmation
    std::optional<ConnectionStats> stats;  ///< of the connection, if there was one
    std::string congestion;                ///< the controller that runs
    std::uint32_t threads = 1;             ///< of CommonOptions
    bool receives = false;                 ///< the data came from the other end
    bool streaming = false;                ///< one pipe and no files
    std::vector<LimitShare> limits;        ///< what limited it, largest share first
    std::uint64_t reconnects = 0;          ///< connections that were lost and replaced
    bool dry_run = false;                  ///< nothing was sent: the outcome is what would be
    std::string plan;                      ///< of a dry run: its list, as a JSON array
    bool plan_cut = false;                 ///< it was too long
    std::uint64_t transfers = 1;           ///< more than one for a long-running receiver
};

/// Of a run that ended before anything was exchanged.
[[nodiscard]] FinalReport never_began(const CommonOptions& options, const Error& error);
/// Of the file bytes that were sent, over the whole time.
[[nodiscard]] Rate goodput(const FinalReport& report);
/// A transfer that was cut short: what was found and not delivered counts as failed. Of a dry run nothing counts.
void close_books(FinalReport& report);
/// The code for an outcome. Where no file at all arrived or stood there and all failed for one reason, that reason is
/// the answer and not "partial"; a failed hash is always said.
[[nodiscard]] ExitCode exit_code_for(const transfer::Outcome& outcome);
/// One line that says what was and was not delivered.
[[nodiscard]] std::string describe_delivery(const FinalReport& report);
/// "12 files, 1.00 GB in 2.31 s, 3.46 Gbit/s (433 MB/s)"
[[nodiscard]] std::string summary_line(const FinalReport& report);
/// "lost 0 of 1,234 packets, ..."; empty without statistics.
[[nodiscard]] std::string transport_line(const FinalReport& report);
/// What --stats prints.
[[nodiscard]] std::vector<std::string> stats_lines(const FinalReport& report);
/// One line for each path, where there are several.
[[nodiscard]] std::vector<std::string> path_lines(const FinalReport& report);
[[nodiscard]] std::string to_json(const FinalReport& report);
/// The object of a run that ended before there was anything to transfer.
[[nodiscard]] std::string error_json(ExitCode code, const std::string& error);
/// "NAME: why", safe to print; only the reason where that names the file.
[[nodiscard]] std::string describe(const transfer::FailedFile& file);
/// Adds the counts of `next` to `total`.
void accumulate(transfer::Outcome& total, const transfer::Outcome& next);

}  // namespace udtx::apps
