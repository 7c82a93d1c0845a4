// The report at the end of a run: exit code, summary lines, JSON object.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "common/process.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"
#include "options/tree_options.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::apps {

struct FinalReport {
    ExitCode code = ExitCode::ok;
    std::string error;     ///< empty when the code is ok
    std::string advice{};  ///< how the next run can be faster; may be empty
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

/// What a run of a tool uses from its start.
struct Run {
    Log& log;
    Terminal& terminal;
    SignalWaiter& signals;
    /// Reports and ends the process, because threads may still be blocked in a disk call.
    std::function<void(const FinalReport&)> leave{};
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
/// What carried the data, if not only UDP: "TCP", "UDP and ssh". Empty: only UDP, or nothing is known.
[[nodiscard]] std::string way_of(const FinalReport& report);
/// "12 files, 1.00 GB in 2.31 s, 3.46 Gbit/s (433 MB/s)", with ", over TCP" if something else than UDP carried data
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

// The lines that a tool prints at the end of a transfer.

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

// Prints the output at the end of a run, and sets the exit code if printing fails.

/// Prints to standard output. If that fails, logs an error and turns success into file_io.
[[nodiscard]] ExitCode print_output(Log& log, std::string_view text, ExitCode code);
/// Ends a run that has not started: prints one line, and the object of --json if `json`.
[[nodiscard]] ExitCode finish_early(Log& log, ExitCode code, const std::string& message, bool json);
[[nodiscard]] ExitCode finish_early(Log& log, const Error& error, bool json);
/// Ends a run whose command line is wrong or only asks for a text.
[[nodiscard]] std::optional<ExitCode> stop_early(Log& log, const Result<EarlyText>& parsed, bool json);
/// Turns success into file_io if the log could not be written.
void check_log(Log& log, FinalReport& report);

// The list that --dry-run prints on standard output, and the list of deletions that -v with --delete prints. The
// letters are rsync's.

/// The listing of a run, as the user's flags ask for it. `receives`: this side receives the files. The returned
/// callback may run on any thread. `log` must outlive it. Forgets what an earlier listing has kept.
[[nodiscard]] transfer::PlanCallback plan_listing(Log& log, const TreeOptions& tree, const CommonOptions& common,
                                                  bool receives);
/// Puts the list that is kept for the object of --json into the report. A list that could not be written is an error.
void check_listing(Log& log, FinalReport& report);

// --receipt: the file is written during the transfer, and gets its name when the transfer is confirmed.

/// Empty if the user did not ask for a receipt.
[[nodiscard]] Result<std::optional<transfer::ReceiptFile>> open_receipt(const CommonOptions& options);
/// Reports a fault of the receipt. The files remain delivered.
void judge_receipt(FinalReport& report);

}  // namespace udtx::apps
