// The report at the end of a run: exit code, summary lines, JSON object.
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
    transfer::Progress progress;           ///< the last progress, used for what was not delivered
    Duration elapsed{};                    ///< from the first packet to the confirmation
    std::optional<ConnectionStats> stats;  ///< of the connection, if there was one; see final_stats()
    std::string congestion;                ///< the congestion controller in use
    std::uint32_t threads = 1;             ///< as in CommonOptions
    bool receives = false;                 ///< this side receives the data
    bool streaming = false;                ///< the source is a pipe
    std::vector<LimitShare> limits;        ///< what limited the transfer, largest share first
    std::uint64_t reconnects = 0;          ///< connections that were lost and replaced
    bool dry_run = false;                  ///< nothing was sent: the outcome is what a real run would do
    std::string plan;                      ///< list of a dry run, as a JSON array
    bool plan_cut = false;                 ///< the list was too long and is cut
    bool connected = true;                 ///< false: the run ended without a connection, so nobody confirmed anything
    std::uint64_t transfers = 1;           ///< more than one for a long-running receiver
};

/// The report of a run that ended before any exchange with the peer.
[[nodiscard]] FinalReport never_began(const CommonOptions& options, const Error& error);
/// The statistics for the report, whose other members are set. Both ends of a confirmed transfer give the sender's last
/// counters; see of_data().
[[nodiscard]] std::optional<ConnectionStats> final_stats(std::optional<ConnectionStats> stats,
                                                         const FinalReport& report);
/// Rate of the file bytes that were sent, over the whole time.
[[nodiscard]] Rate goodput(const FinalReport& report);
/// Completes the counts of an aborted transfer: files that were found but not delivered count as failed. A dry run's
/// counts become zero.
void close_books(FinalReport& report);
/// The exit code for an outcome. If no file was delivered or present before, and all failed for one reason, the code is
/// that reason instead of "partial". A failed hash always gives the integrity code.
[[nodiscard]] ExitCode exit_code_for(const transfer::Outcome& outcome);
/// One line about what was delivered and what was not.
[[nodiscard]] std::string describe_delivery(const FinalReport& report);
/// "12 files, 1.00 GB in 2.31 s, 3.46 Gbit/s (433 MB/s)"
[[nodiscard]] std::string summary_line(const FinalReport& report);
/// "lost 0 of 1,234 packets, ..."; empty without statistics.
[[nodiscard]] std::string transport_line(const FinalReport& report);
/// What --stats prints.
[[nodiscard]] std::vector<std::string> stats_lines(const FinalReport& report);
/// One line per path if there are several.
[[nodiscard]] std::vector<std::string> path_lines(const FinalReport& report);
[[nodiscard]] std::string to_json(const FinalReport& report);
/// The JSON object of a run that ended before the transfer.
[[nodiscard]] std::string error_json(ExitCode code, const std::string& error);
/// "NAME: why", safe to print. Only the reason if it names the file.
[[nodiscard]] std::string describe(const transfer::FailedFile& file);
/// Adds the counts of `next` to `total`.
void accumulate(transfer::Outcome& total, const transfer::Outcome& next);

}  // namespace udtx::apps
