#include "serve/total_report.hpp"

#include <utility>

#include "common/signals.hpp"
#include "common/units.hpp"

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

}  // namespace udtx::apps
