#include "udtx-recv/server_report.hpp"

#include "report/show_report.hpp"

namespace udtx::apps {
namespace {

const char* failed_word(bool sent) { return sent ? "not delivered" : "not received"; }

}  // namespace

FinalReport report_of(const RecvCommand& command, const Session& session) {
    FinalReport report;
    report.outcome = session.job().result();
    report.outcome.exact = session.done();
    report.progress = session.job().progress();
    report.dry_run = report.outcome.dry_run;
    report.elapsed = session.elapsed();
    report.stats = session.final_stats();
    report.limits = session.observed().limits;
    report.congestion = command.common.congestion_in_use();
    report.streams = command.common.streams;
    report.code = exit_code_for(report.outcome);
    report.receives = !session.fetched();
    report.streaming = command.to_stdout;
    const Result<void>& status = report.outcome.status;
    if (!status.ok() && status.error().code != ErrorCode::partial) {
        close_books(report);
        report.error = status.error().message;
        if (!report.dry_run) report.error += "; " + describe_delivery(report);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, failed_word(session.fetched()), command.common.quiet);
    }
    return report;
}

void show(const RecvRun& run, const FinalReport& report, const std::string& of, bool sent) {
    show_report(
        run.log, report,
        {of, failed_word(sent), run.command.common.verbose, run.command.common.observing.stats, run.command.pulls()});
}

}  // namespace udtx::apps
