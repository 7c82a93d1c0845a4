#include "serve/server_report.hpp"

#include "observe/receipt.hpp"
#include "observe/show_report.hpp"

namespace udtx::apps {
namespace {

const char* failed_word(bool sent) { return sent ? "not delivered" : "not received"; }

}  // namespace

FinalReport report_of(const RecvCommand& command, const WatchedTransfer& watched) {
    const transfer::ServedTransfer& transfer = watched.transfer();
    FinalReport report;
    report.outcome = transfer.outcome();
    report.progress = transfer.progress();
    report.dry_run = report.outcome.dry_run;
    report.elapsed = transfer.elapsed();
    report.limits = watched.observed().limits;
    report.congestion = command.common.congestion_in_use();
    report.threads = command.common.threads;
    report.code = exit_code_for(report.outcome);
    report.receives = !watched.fetched();
    report.stats = final_stats(transfer.stats(), report);
    report.streaming = command.to_stdout;
    const Result<void>& status = report.outcome.status;
    if (!status.ok() && status.error().code != ErrorCode::partial) {
        close_books(report);
        report.error = status.error().message;
        if (!report.dry_run) report.error += "; " + describe_delivery(report);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, failed_word(watched.fetched()), command.common.quiet);
    }
    judge_receipt(report);
    return report;
}

void show(const RecvRun& run, const FinalReport& report, const std::string& of, bool sent) {
    show_report(run.log, report,
                {of, failed_word(sent), run.command.common.verbose, run.command.common.observing.stats,
                 run.command.pulls() && run.command.common.wants_details(run.terminal.is_tty())});
}

}  // namespace udtx::apps
