#include "serve/server_report.hpp"

#include "observe/show_report.hpp"

namespace udtx::apps {
namespace {

const char* failed_word(bool sent) { return sent ? "not delivered" : "not received"; }

}  // namespace

FinalReport report_of(const RecvCommand& command, const ServedConnection& connection) {
    FinalReport report;
    report.outcome = connection.job().result();
    report.outcome.exact = connection.done();
    report.progress = connection.job().progress();
    report.dry_run = report.outcome.dry_run;
    report.elapsed = connection.elapsed();
    report.stats = connection.final_stats();
    report.limits = connection.observed().limits;
    report.congestion = command.common.congestion_in_use();
    report.threads = command.common.threads;
    report.code = exit_code_for(report.outcome);
    report.receives = !connection.fetched();
    report.streaming = command.to_stdout;
    const Result<void>& status = report.outcome.status;
    if (!status.ok() && status.error().code != ErrorCode::partial) {
        close_books(report);
        report.error = status.error().message;
        if (!report.dry_run) report.error += "; " + describe_delivery(report);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, failed_word(connection.fetched()), command.common.quiet);
    }
    return report;
}

void show(const RecvRun& run, const FinalReport& report, const std::string& of, bool sent) {
    show_report(
        run.log, report,
        {of, failed_word(sent), run.command.common.verbose, run.command.common.observing.stats, run.command.pulls()});
}

}  // namespace udtx::apps
