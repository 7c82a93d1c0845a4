#include "serve/server_end.hpp"

#include <csignal>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

ServerEnd::Wish ServerEnd::on_signal(int signal, Instant now) noexcept {
    if (signal == SIGHUP && !one_off_) return stage_ == Stage::interrupted ? Wish::nothing : Wish::reload;
    if (signal == SIGTERM && !one_off_ && stage_ != Stage::interrupted) {
        if (stage_ == Stage::serving) {
            stage_.enter(Stage::draining);
            draining_since_ = now;
            return Wish::drain;
        }
        if (now - draining_since_ < Interruption::kOneGesture) return Wish::repeated;
    }
    switch (interruption_.on_signal(signal, now)) {
        case Interruption::Wish::repeated:
            return Wish::repeated;
        case Interruption::Wish::leave:
            return Wish::leave;
        case Interruption::Wish::wind_up:
            break;
    }
    if (stage_ != Stage::cut_off) deadline_ = now + kInterruptGrace;
    stage_.enter(Stage::interrupted);
    return Wish::wind_up;
}

bool ServerEnd::drained_too_long(Instant now) noexcept {
    if (!longest_drain_ || stage_ != Stage::draining || now - draining_since_ < *longest_drain_) return false;
    stage_.enter(Stage::cut_off);
    deadline_ = now + kInterruptGrace;
    return true;
}

namespace {

constexpr Duration kBetween = std::chrono::seconds(1);

}  // namespace

void RefusalLog::tell(Instant now, const std::string& line) {
    const auto told = told_.lock();
    if (!all_ && told->last && now - *told->last < kBetween) {
        ++told->left_out;
        return;
    }
    tell_rest(*told);
    told->last = now;
    log_.warn(line);
}

void RefusalLog::look(Instant now) {
    const auto told = told_.lock();
    if (told->left_out == 0 || now - *told->last < kBetween) return;
    tell_rest(*told);
    told->last = now;
}

void RefusalLog::finish() { tell_rest(*told_.lock()); }

void RefusalLog::tell_rest(Told& told) {
    if (told.left_out == 0) return;
    const std::uint64_t count = std::exchange(told.left_out, 0);
    log_.warn("refused " + counted(count, "more client") + " within a second; -v lists all");
}

TotalReport::TotalReport(const RecvCommand& command) : one_off_(command.one_off) {
    total_.congestion = command.common.congestion;
    total_.threads = command.common.threads;
    total_.transfers = 0;
}

void TotalReport::add(FinalReport report) {
    if (total_.transfers++ == 0) {
        report.congestion = total_.congestion;
        report.streaming = false;
        report.transfers = total_.transfers;
        total_ = std::move(report);
        return;
    }
    accumulate(total_.outcome, report.outcome);
    total_.dry_run = total_.dry_run && report.dry_run;
    accumulate(total_.progress, report.progress);
    total_.elapsed += report.elapsed;
    total_.limits.clear();  // limits differ between transfers
}

void TotalReport::interrupted_by(int signal) {
    total_.code = ExitCode::interrupted;
    close_books(total_);
    total_.error = apps::interrupted_by(signal) + ": " + delivery();
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
    return describe_delivery(total_) + " in " + counted(total_.transfers, "transfer");
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
    report.streaming = command.streaming;
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

void show(const RecvCommand& command, const Run& run, const FinalReport& report, const std::string& of, bool sent) {
    show_report(run.log, report,
                {.from = of,
                 .failed = failed_word(sent),
                 .verbose = command.common.verbose,
                 .stats = command.common.stats,
                 .transport = command.pulls() && command.common.wants_details(run.terminal.is_tty())});
}

}  // namespace udtx::apps
