#include "serve/server_report.hpp"

#include <utility>

#include "common/process.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"

namespace udtx::apps {

TotalReport::TotalReport(const RecvCommand& command) : one_off_(command.one_off) {
    total_.congestion = command.common.congestion;
    total_.threads = command.common.threads;
    total_.transfers = 0;
}

void TotalReport::add(FinalReport report) {
    if (total_.transfers++ == 0) {
        total_.outcome = std::move(report.outcome);
        total_.progress = report.progress;
        total_.elapsed = report.elapsed;
        total_.stats = std::move(report.stats);
        total_.limits = std::move(report.limits);
        total_.receives = report.receives;
        total_.dry_run = report.dry_run;
        total_.code = report.code;
        total_.error = std::move(report.error);
        return;
    }
    accumulate(total_.outcome, report.outcome);
    total_.dry_run = total_.dry_run && report.dry_run;
    total_.progress.files_total += report.progress.files_total;
    total_.progress.files_done += report.progress.files_done;
    total_.progress.totals_final = total_.progress.totals_final && report.progress.totals_final;
    total_.elapsed += report.elapsed;
    total_.limits.clear();  // limits differ between transfers
}

void TotalReport::interrupted_by(int signal) {
    total_.code = ExitCode::interrupted;
    close_books(total_);
    total_.error = std::string("interrupted by ") + signal_name(signal) + ": " + delivery();
}

void TotalReport::failed(const Error& why) {
    total_.code = exit_code_for(why.code);
    close_books(total_);
    total_.error = why.message + ": " + delivery();
}

void TotalReport::drained() {
    total_.code = ExitCode::ok;
    total_.error.clear();
}

std::string TotalReport::delivery() const {
    if (total_.transfers == 0) return "no transfer was running";
    if (one_off_) return describe_delivery(total_);
    return describe_delivery(total_) + " in " + format_count(total_.transfers) +
           (total_.transfers == 1 ? " transfer" : " transfers");
}

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
