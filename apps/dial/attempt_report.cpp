#include "dial/attempt_report.hpp"

#include <iterator>
#include <utility>

#include "observe/final_report.hpp"
#include "observe/path_progress.hpp"
#include "observe/show_report.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

constexpr Duration kAskedFor = std::chrono::seconds(2);  // a path that has not answered by then does not work

void add_missing(FinalReport& report, std::vector<transfer::FailedFile> missing) {
    if (missing.empty()) return;
    auto& failed = report.outcome.failed;
    report.outcome.failed_count += missing.size();
    failed.insert(failed.begin(), std::make_move_iterator(missing.begin()), std::make_move_iterator(missing.end()));
    if (report.code == ExitCode::ok) report.code = ExitCode::partial;
}

/// Who was not let in, found nothing of what was asked for, or only wanted to know, has delivered nothing that needs to
/// be said.
bool worth_describing(const FinalReport& report, const DialHandler& dial) {
    const bool begun = report.progress.files_total + report.progress.bytes_total > 0;
    return dial.connected() && begun && !report.dry_run &&
           report.outcome.status.error().code != ErrorCode::authentication;
}

void say_error(FinalReport& report, const AttemptFacts& facts, const DialHandler& dial, int signal) {
    const Result<void>& status = report.outcome.status;
    if (signal != 0 && !status.ok()) {
        report.code = ExitCode::interrupted;
        close_books(report);
        report.error = std::string("interrupted by ") + signal_name(signal);
        if (!report.dry_run) report.error += ": " + describe_delivery(report) + how_to_go_on(report.outcome, true);
    } else if (!status.ok() && status.error().code != ErrorCode::partial) {
        const DialContext context = facts.context();
        report.error = explain(status.error(), context);
        // Over ssh something listens there for sure: what refuses datagrams is on the way.
        const bool over_ssh = !context.ssh_host.empty();
        if (over_ssh && !dial.connected() && report.code == ExitCode::network) report.code = ExitCode::udp_blocked;
        close_books(report);
        if (worth_describing(report, dial)) {
            report.error += "; " + describe_delivery(report) + how_to_go_on(report.outcome, false);
        }
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, facts.end == DataEnd::sender ? "not delivered" : "not received",
                                       facts.options.quiet);
    }
}

/// One that does not work is told of while it is asked for, but a short transfer ends before; and scripts read only
/// this.
void warn_of_silent_paths(FinalReport& report, const DialHandler& dial) {
    const auto since = dial.connected_since();
    if (!report.stats || report.stats->paths.size() < 2) return;
    if (!since || monotonic_now() - *since < kAskedFor) return;
    for (const PathStats& path : report.stats->paths) {
        if (path.state != PathState::probing) continue;
        report.outcome.warnings.push_back("path " + std::to_string(path.id.value) + " from " + host_text(path.local) +
                                          " to " + to_string(path.remote) + ": nothing came back on it");
    }
}

}  // namespace

FinalReport attempt_report(AttemptFacts facts, const TransferObservers& observers, const AttemptWaiter& waiter,
                           const DialHandler& dial, const transfer::Job& job) {
    const Account& account = observers.account();
    FinalReport report;
    report.elapsed = waiter.elapsed();
    report.outcome = account.whole(job.result());
    if (facts.end == DataEnd::receiver) report.outcome.exact = waiter.ended();
    report.receives = facts.end == DataEnd::receiver;
    report.streaming = facts.streaming;
    report.dry_run = facts.dry_run;
    // Left behind before it had come to its end.
    if (const auto& why = waiter.given_up(); why && report.outcome.status.ok() && !waiter.ended()) {
        report.outcome.status = *why;
    }
    report.progress = account.whole(job.progress());
    report.stats = dial.final_stats();
    report.congestion = std::move(facts.congestion);
    report.threads = facts.options.threads;
    report.code = exit_code_for(report.outcome);
    warn_of_silent_paths(report, dial);
    add_missing(report, std::move(facts.missing));
    say_error(report, facts, dial, waiter.signal());
    return report;
}

Attempt not_begun(const CommonOptions& options, const TransferObservers& observers, const Error& error,
                  Attempt::End end) {
    FinalReport report = never_began(options, error);
    report.outcome = observers.account().whole(std::move(report.outcome));
    return {std::move(report), end, {}};
}

}  // namespace udtx::apps
