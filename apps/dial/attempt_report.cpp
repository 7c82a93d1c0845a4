#include "dial/attempt_report.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "observe/final_report.hpp"
#include "observe/path_progress.hpp"
#include "observe/receipt.hpp"
#include "observe/show_report.hpp"

namespace udtx::apps {
namespace {

// A path without an answer within this time counts as not working.
constexpr Duration kAskedFor = std::chrono::seconds(2);

/// Takes the missing sources out of `outcome.failed`. They are listed last, because they do not explain why other files
/// were not delivered.
std::vector<transfer::FailedFile> take_missing(transfer::Outcome& outcome) {
    const auto end = outcome.failed.begin() + static_cast<std::ptrdiff_t>(outcome.missing);
    std::vector<transfer::FailedFile> missing(std::make_move_iterator(outcome.failed.begin()),
                                              std::make_move_iterator(end));
    outcome.failed.erase(outcome.failed.begin(), end);
    outcome.failed_count -= outcome.missing;
    outcome.missing = 0;
    const bool all = outcome.failed_count == 0 && outcome.unset.empty();
    if (all && !outcome.status.ok() && outcome.status.error().code == ErrorCode::partial) outcome.status = {};
    return missing;
}

void add_new(std::vector<transfer::FailedFile>& all, std::vector<transfer::FailedFile> more) {
    for (transfer::FailedFile& file : more) {
        const auto same = [&](const transfer::FailedFile& other) { return other.path == file.path; };
        if (std::ranges::none_of(all, same)) all.push_back(std::move(file));
    }
}

void add_missing(FinalReport& report, std::vector<transfer::FailedFile> missing) {
    if (missing.empty()) return;
    auto& failed = report.outcome.failed;
    report.outcome.failed_count += missing.size();
    failed.insert(failed.begin(), std::make_move_iterator(missing.begin()), std::make_move_iterator(missing.end()));
    if (report.code == ExitCode::ok) report.code = ExitCode::partial;
}

/// True if the error message should describe the delivery. There is none to describe without a connection, after a
/// failed authentication, if no file was found, or in a dry run.
bool worth_describing(const FinalReport& report, const transfer::Transfer& transfer) {
    const bool begun = report.progress.files_total + report.progress.bytes_total > 0;
    return transfer.connected_for() && begun && !report.dry_run &&
           report.outcome.status.error().code != ErrorCode::authentication;
}

void say_error(FinalReport& report, const AttemptFacts& facts, const transfer::Transfer& transfer, int signal) {
    const Result<void>& status = report.outcome.status;
    if (signal != 0 && !status.ok()) {
        report.code = ExitCode::interrupted;
        close_books(report);
        report.error = std::string("interrupted by ") + signal_name(signal);
        if (!report.dry_run) report.error += ": " + describe_delivery(report) + how_to_go_on(report.outcome, true);
    } else if (!status.ok() && status.error().code != ErrorCode::partial) {
        const DialContext context = facts.context();
        report.error = explain(status.error(), context);
        // Over ssh the remote end certainly listens, so a host or firewall on the path refuses the datagrams.
        const bool over_ssh = !context.ssh_host.empty();
        if (over_ssh && !transfer.connected_for() && report.code == ExitCode::network)
            report.code = ExitCode::udp_blocked;
        close_books(report);
        if (worth_describing(report, transfer)) {
            report.error += "; " + describe_delivery(report) + how_to_go_on(report.outcome, false);
        }
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, facts.end == DataEnd::sender ? "not delivered" : "not received",
                                       facts.options.quiet);
    }
}

/// A path that fails is logged while udtx probes it, but a short transfer ends earlier. Scripts read only the report.
void warn_of_silent_paths(FinalReport& report, const transfer::Transfer& transfer) {
    const auto connected_for = transfer.connected_for();
    if (!report.stats || report.stats->paths.size() < 2) return;
    if (!connected_for || *connected_for < kAskedFor) return;
    for (const PathStats& path : report.stats->paths) {
        if (path.state != PathState::probing) continue;
        report.outcome.warnings.push_back("path " + std::to_string(path.id.value) + " from " + host_text(path.local) +
                                          " to " + to_string(path.remote) + ": nothing came back on it");
    }
}

}  // namespace

FinalReport attempt_report(AttemptFacts facts, const TransferObservers& observers, const AttemptWaiter& waiter,
                           const transfer::Transfer& transfer) {
    const Account& account = observers.account();
    FinalReport report;
    report.elapsed = transfer.elapsed();
    report.connected = transfer.connected_for().has_value();
    report.outcome = transfer.outcome();
    std::vector<transfer::FailedFile> missing = take_missing(report.outcome);
    add_new(missing, std::move(facts.missing));
    report.outcome = account.whole(std::move(report.outcome));
    report.receives = facts.end == DataEnd::receiver;
    report.streaming = facts.streaming;
    report.dry_run = facts.dry_run;
    report.progress = account.whole(transfer.progress());
    report.stats = final_stats(transfer.stats(), report);
    report.congestion = std::move(facts.congestion);
    report.threads = facts.options.threads;
    report.code = exit_code_for(report.outcome);
    warn_of_silent_paths(report, transfer);
    add_missing(report, std::move(missing));
    say_error(report, facts, transfer, waiter.signal());
    judge_receipt(report);
    if (facts.job != nullptr) facts.job->judge(report);
    return report;
}

Attempt not_begun(const CommonOptions& options, const TransferObservers& observers, const Error& error) {
    FinalReport report = never_began(options, error);
    report.outcome = observers.account().whole(std::move(report.outcome));
    return {std::move(report), end_of(error), {}, true};
}

}  // namespace udtx::apps
