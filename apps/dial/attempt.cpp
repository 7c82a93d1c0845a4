#include "dial/attempt.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "observe/progress.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {

AttemptWaiter::AttemptWaiter(const Setup& setup, transfer::Transfer& transfer)
    : setup_(setup), transfer_(transfer), start_(monotonic_now()), last_moved_(start_) {
    setup_.observers.begin_connection(start_);
    transfer_.when_done([&signals = setup_.signals] { signals.wake(); });
}

bool AttemptWaiter::wait() {
    while (!transfer_.done() && listen()) {
        const auto signal = setup_.signals.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        if (signal && !interrupt(*signal, now)) return false;
        if (transfer_.stuck()) return false;
        show(now);
    }
    setup_.observers.clear_screen();
    return true;
}

bool AttemptWaiter::listen() {
    if (setup_.remote == nullptr) return true;
    const auto answer = setup_.remote->answer();
    const bool fresh = !setup_.known && answer && answer->has_value() && !(*answer)->get("fresh").empty();
    if (fresh) transfer_.presume_fresh();
    const bool gone = setup_.remote->gone();
    if (gone) transfer_.suspect_peer();
    return transfer_.connected_for() || (answer && !gone);
}

void AttemptWaiter::show(Instant now) {
    const auto cap = setup_.observers.new_cap(now);
    if (cap) {
        setup_.log.info(describe_rate_cap(*cap));
        transfer_.set_max_rate(*cap);
    }
    last_moved_ = now - transfer_.idle();
    look(now);
}

void AttemptWaiter::look(Instant now) {
    setup_.observers.look(now, {.progress = transfer_.progress(),
                                .stats = transfer_.stats(),
                                .stats_age = transfer_.stats_age(),
                                .protocol = transfer_.protocol_time(),
                                .process = process_time(),
                                .writing = transfer_.writing_time(),
                                .connected = transfer_.connected_for().has_value()});
}

void AttemptWaiter::look_back() { look(start_ + transfer_.elapsed()); }

bool AttemptWaiter::interrupt(int signal, Instant now) {
    const auto wish = interruption_.on_signal(signal, now);
    if (wish == Interruption::Wish::wind_up) {
        transfer_.cancel(ErrorCode::interrupted,
                         std::string("interrupted by ") + signal_name(signal) +
                             (setup_.end == DataEnd::sender ? " at the sender" : " at the receiver"));
    }
    if (wish == Interruption::Wish::repeated) setup_.log.info(repeated_signal(signal));
    return wish != Interruption::Wish::leave;
}

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

namespace {

[[noreturn]] void leave(const AttemptCourse& course, FinalReport report) {
    if (course.receipt) course.receipt->discard();
    course.observers->finish(report);
    // leave() may end the process, so the control socket must be removed first.
    course.observers.reset();
    course.leave(report);
    std::abort();
}

/// Why the remote end over ssh refuses to serve, if this is why there is no connection.
std::optional<Error> refusal(RemoteEnd* remote, const transfer::Transfer& transfer) {
    if (remote == nullptr || transfer.connected_for() || transfer.cancelled()) return std::nullopt;
    const auto answer = remote->await_answer();
    if (!answer) return answer.error();
    return remote->gone() ? std::optional(remote->ended_early()) : std::nullopt;
}

}  // namespace

Attempt run_attempt(const AttemptCourse& course, transfer::Transfer& transfer) {
    AttemptWaiter waiter({.signals = course.signals,
                          .end = course.end,
                          .observers = *course.observers,
                          .log = course.log,
                          .remote = course.remote,
                          .known = course.known},
                         transfer);
    do {
        if (!waiter.wait()) leave(course, course.report(waiter));
        const auto why = refusal(course.remote, transfer);
        if (why) return not_begun(course.options, *course.observers, *why);
    } while (!transfer.done());
    waiter.look_back();
    FinalReport report = course.report(waiter);
    const Attempt::End end = end_of(transfer);
    const bool nothing = report.progress.bytes_done == 0 && report.progress.files_done == 0;
    // A stream counts as a file once it is read.
    const bool unread = !course.reads_pipe || report.progress.files_total == 0;
    const bool untouched = !transfer.connected_for() || (end == Attempt::End::sent_away && nothing && unread);
    const bool goes_on = end == Attempt::End::sent_away && (course.resumable || untouched);
    // A disk thread may be blocked in a call that cannot be interrupted: a read of standard input, or a file server
    // that hangs.
    if (report.code == ExitCode::interrupted && !goes_on) leave(course, std::move(report));
    return {std::move(report), end, waiter.last_moved(), untouched};
}

}  // namespace udtx::apps
