#include "connect/runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iterator>
#include <system_error>
#include <utility>

#include "common/units.hpp"
#include "connect/known_paths_file.hpp"
#include "observe/progress.hpp"
#include "udtx/known_paths.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

// A path without an answer within this time counts as not working.
constexpr Duration kAskedFor = std::chrono::seconds(2);

/// Takes the missing sources out of `outcome.failed`, and adds those of `more` that are not among them. They are listed
/// last, because they do not explain why other files were not delivered.
std::vector<transfer::FailedFile> take_missing(transfer::Outcome& outcome, std::vector<transfer::FailedFile> more) {
    const auto end = outcome.failed.begin() + static_cast<std::ptrdiff_t>(outcome.missing);
    std::vector<transfer::FailedFile> missing(std::make_move_iterator(outcome.failed.begin()),
                                              std::make_move_iterator(end));
    outcome.failed.erase(outcome.failed.begin(), end);
    outcome.failed_count -= outcome.missing;
    outcome.missing = 0;
    const bool all = outcome.failed_count == 0 && outcome.unset.empty();
    if (all && !outcome.status.ok() && outcome.status.error().code == ErrorCode::partial) outcome.status = {};
    for (transfer::FailedFile& file : more) {
        if (std::ranges::find(missing, file.path, &transfer::FailedFile::path) == missing.end()) {
            missing.push_back(std::move(file));
        }
    }
    return missing;
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

/// One connection of a transfer, from its first datagram to its report. Meanwhile it shows progress, and a signal
/// cancels it.
class TransferRun::Connection {
  public:
    Connection(TransferRun& owner, const Route& route, transfer::Transfer& transfer)
        : owner_(owner), route_(route), transfer_(transfer), start_(monotonic_now()), last_moved_(start_) {
        owner_.observers_->begin_connection(start_);
        transfer_.when_done([&signals = owner_.run_.signals] { signals.wake(); });
    }

    [[nodiscard]] Attempt serve() {
        do {
            if (!wait()) owner_.leave(report());
            if (const auto why = refusal()) return owner_.not_begun(*why);
        } while (!transfer_.done());
        look(start_ + transfer_.elapsed());  // observes what changed since the last turn
        Attempt made{.report = report(), .end = end(), .last_moved = last_moved_};
        const bool nothing = made.report.progress.bytes_done == 0 && made.report.progress.files_done == 0;
        // A pipe cannot be read again. A stream counts as a file once it is read.
        const bool pipe = owner_.command_.streaming && !owner_.receives();
        const bool unread = !pipe || made.report.progress.files_total == 0;
        const bool away = made.end == Attempt::End::sent_away;
        made.untouched = !transfer_.connected_for() || (away && nothing && unread);
        const bool goes_on = away && (owner_.command_.resumable() || made.untouched);
        // A disk thread may be blocked in a call that cannot be interrupted: a read of standard input, or a file server
        // that hangs.
        if (made.report.code == ExitCode::interrupted && !goes_on) owner_.leave(std::move(made.report));
        return made;
    }

  private:
    /// Returns true once the transfer is done or has no prospect. False: it must be abandoned unfinished.
    [[nodiscard]] bool wait() {
        while (!transfer_.done() && listen()) {
            const auto signal = owner_.run_.signals.wait(SignalWaiter::kTurn);
            const Instant now = monotonic_now();
            if (signal && !interrupt(*signal, now)) return false;
            if (transfer_.stuck()) return false;
            if (const auto cap = owner_.observers_->new_cap(now)) {
                owner_.run_.log.info(describe_rate_cap(*cap));
                transfer_.set_max_rate(*cap);
            }
            last_moved_ = now - transfer_.idle();
            look(now);
        }
        owner_.observers_->clear_screen();
        return true;
    }

    /// Polls the remote end over ssh. False: the attempt has no prospect.
    [[nodiscard]] bool listen() {
        if (owner_.command_.carriers.only != CarrierFlags::Only::udp) transfer_.add_channel(channel_of(route_));
        if (!route_.remote) return true;
        const auto answer = route_.remote->answer();
        if (!route_.known && answer && answer->has_value() && !(*answer)->get("fresh").empty()) {
            transfer_.presume_fresh();
        }
        if (route_.remote->gone()) transfer_.suspect_peer();
        return transfer_.connected_for() || (answer && !route_.remote->ended());
    }

    void look(Instant now) {
        owner_.observers_->look(now, {.progress = transfer_.progress(),
                                      .stats = transfer_.stats(),
                                      .stats_age = transfer_.stats_age(),
                                      .protocol = transfer_.protocol_time(),
                                      .process = process_time(),
                                      .writing = transfer_.writing_time(),
                                      .connected = transfer_.connected_for().has_value()});
    }

    /// False: exit at once.
    bool interrupt(int signal, Instant now) {
        const auto wish = interruption_.on_signal(signal, now);
        if (wish == Interruption::Wish::wind_up) {
            transfer_.cancel(ErrorCode::interrupted,
                             interrupted_by(signal) + (owner_.receives() ? " at the receiver" : " at the sender"));
        }
        if (wish == Interruption::Wish::repeated) owner_.run_.log.info(repeated_signal(signal));
        return wish != Interruption::Wish::leave;
    }

    /// Why the remote end over ssh refuses to serve, if this is why there is no connection.
    [[nodiscard]] std::optional<Error> refusal() const {
        if (!route_.remote || transfer_.connected_for() || transfer_.cancelled()) return std::nullopt;
        const auto answer = route_.remote->await_answer();
        if (!answer) return answer.error();
        return route_.remote->ended() ? std::optional(route_.remote->ended_early()) : std::nullopt;
    }

    [[nodiscard]] Attempt::End end() const {
        if (transfer_.cancelled()) return Attempt::End::final;
        if (!transfer_.connected_for()) return Attempt::End::unreachable;
        const Result<void> status = transfer_.outcome().status;
        const auto is = [&](ErrorCode code) { return !status && status.error().code == code; };
        // The other end is full, or has not given up an earlier connection of this transfer.
        if (!transfer_.lost()) return is(ErrorCode::no_resources) ? Attempt::End::unreachable : Attempt::End::final;
        return is(ErrorCode::going_away) ? Attempt::End::sent_away : Attempt::End::lost;
    }

    /// Includes the results of the earlier connections.
    [[nodiscard]] FinalReport report() {
        const Account& account = owner_.observers_->account();
        const TransferCommand& command = owner_.command_;
        FinalReport report;
        report.elapsed = transfer_.elapsed();
        report.connected = transfer_.connected_for().has_value();
        report.outcome = transfer_.outcome();
        auto missing = take_missing(report.outcome, owner_.missing(route_, transfer_));
        report.outcome = account.whole(std::move(report.outcome));
        report.receives = owner_.receives();
        report.streaming = command.streaming;
        report.dry_run = command.tree.what.dry_run;
        report.progress = account.whole(transfer_.progress());
        report.stats = final_stats(transfer_.stats(), report);
        report.congestion = owner_.subject_.congestion;
        report.threads = command.common.threads;
        report.code = exit_code_for(report.outcome);
        warn_of_silent_paths(report, transfer_);
        if (report.receives && command.tree.what.erase && !missing.empty()) {
            report.outcome.warnings.emplace_back("--delete: nothing is deleted, because not all sources can be read");
        }
        if (!missing.empty()) {
            auto& failed = report.outcome.failed;
            report.outcome.failed_count += missing.size();
            failed.insert(failed.begin(), std::make_move_iterator(missing.begin()),
                          std::make_move_iterator(missing.end()));
            if (report.code == ExitCode::ok) report.code = ExitCode::partial;
        }
        if (command.carriers.only == CarrierFlags::Only::nothing && !way_of(report).empty()) {
            report.advice = how_to_use_udp(command, route_);
        }
        say_error(report);
        judge_receipt(report);
        if (owner_.job_) owner_.job_->judge(report);
        return report;
    }

    void say_error(FinalReport& report) const {
        const Result<void>& status = report.outcome.status;
        const int signal = interruption_.signal();
        if (signal != 0 && !status.ok()) {
            report.code = ExitCode::interrupted;
            close_books(report);
            report.error = interrupted_by(signal);
            if (!report.dry_run) report.error += ": " + describe_delivery(report) + how_to_go_on(report.outcome, true);
        } else if (!status.ok() && status.error().code != ErrorCode::partial) {
            report.error = explain(status.error(), owner_.command_, route_, report.connected);
            // Over ssh the remote end certainly listens, so a host or firewall on the path refuses the datagrams.
            if (route_.remote && !report.connected && report.code == ExitCode::network) {
                report.code = ExitCode::udp_blocked;
            }
            close_books(report);
            // There is no delivery to describe without a connection, after a failed authentication, or if no file was
            // found.
            const bool begun = report.progress.files_total + report.progress.bytes_total > 0;
            if (report.connected && begun && !report.dry_run && status.error().code != ErrorCode::authentication) {
                report.error += "; " + describe_delivery(report) + how_to_go_on(report.outcome, false);
            }
        } else if (report.code != ExitCode::ok) {
            report.error = partial_message(report, report.receives ? "not received" : "not delivered",
                                           owner_.command_.common.quiet);
        }
    }

    TransferRun& owner_;
    const Route& route_;
    transfer::Transfer& transfer_;
    Instant start_;
    Instant last_moved_;  // time of the last progress
    Interruption interruption_;
};

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(200);
// An attempt at a port costs a packet. An attempt over ssh costs a login, which a server may limit.
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr Duration kLongestPauseBeforeLogin = std::chrono::seconds(15);
/// Time for an answer of a known remote end before a login is tried.
constexpr Duration kAnswerWithin = std::chrono::seconds(5);
/// A server may limit the number of logins.
constexpr Duration kLoginsApart = std::chrono::seconds(15);

}  // namespace

/// What the attempts of a run have achieved so far, and when the next one follows.
class TransferRun::Reconnects {
  public:
    Reconnects(TransferRun& owner, Duration patience) : owner_(owner), patience_(patience) {}

    void take(Attempt& attempt) {
        login_next_ = attempt.login_next;
        const bool sent_away = attempt.end == Attempt::End::sent_away;
        if (attempt.end == Attempt::End::unreachable || (sent_away && lost_ && !moved(attempt))) {
            why_ = attempt.report.error;
            owner_.run_.log.detail(why_);
            return;
        }
        if (moved(attempt)) {
            most_ = done_by(attempt);
            moved_ = std::max(moved_, attempt.last_moved);
            pause_ = kFirstPause;
        }
        owner_.observers_->lost(monotonic_now(), attempt.report);
        lost_ = attempt.report;
        owner_.run_.log.warn(std::string(sent_away ? "the server is being stopped" : "the connection is lost") +
                             "; reconnecting, for " + format_elapsed(left()) + " at most");
    }

    /// False: the patience is used up, or a signal arrived.
    [[nodiscard]] bool wait() {
        const Instant until = monotonic_now() + std::min(pause_, left());
        pause_ = std::min(2 * pause_, login_next_ ? kLongestPauseBeforeLogin : kLongestPause);
        for (Instant now = monotonic_now(); now < until; now = monotonic_now()) {
            const auto slice = std::chrono::ceil<std::chrono::milliseconds>(until - now);
            signal_ = owner_.run_.signals.wait(std::min(slice, SignalWaiter::kTurn));
            if (signal_) return false;
            owner_.observers_->look_at_nothing(monotonic_now(), TransferObservers::Screen::ours);
        }
        return left() > Duration::zero();
    }

    /// False if the peer gave up when the patience of this end was used up as well.
    [[nodiscard]] bool has_time_after(const Attempt& attempt) const {
        const Instant since = moved(attempt) ? std::max(moved_, attempt.last_moved) : moved_;
        return attempt.end != Attempt::End::lost || monotonic_now() + kFirstPause < since + patience();
    }

    void count() { ++reconnects_; }

    /// Remaining patience.
    [[nodiscard]] Duration left() const { return std::max(moved_ + patience() - monotonic_now(), Duration::zero()); }

    /// Turns the report of the last attempt into that of the whole run.
    [[nodiscard]] FinalReport sum(FinalReport last) const {
        last.reconnects = reconnects_;
        last.elapsed = owner_.observers_->since_start(monotonic_now());
        return last;
    }

    /// The report of the last connection, for a run that ends without a new one.
    [[nodiscard]] FinalReport give_up() const {
        FinalReport report = sum(*lost_);
        if (signal_) {
            report.code = ExitCode::interrupted;
            report.error = interrupted_by(*signal_) + " while reconnecting: " + report.error;
        } else {
            report.error += "; nothing moved for " + format_elapsed(patience()) + " while reconnecting" +
                            (why_.empty() ? std::string() : ", the last attempt: " + why_);
        }
        return report;
    }

  private:
    [[nodiscard]] static std::uint64_t done_by(const Attempt& attempt) {
        return attempt.report.progress.bytes_done + attempt.report.progress.bytes_kept;
    }
    [[nodiscard]] bool moved(const Attempt& attempt) const { return done_by(attempt) > most_; }

    /// An end that was met and has left the relay waits no longer than this.
    [[nodiscard]] Duration patience() const {
        const bool left_alone = owner_.met_ && owner_.met_->over();
        return left_alone ? std::min(patience_, MetEnd::kWithoutRelay) : patience_;
    }

    TransferRun& owner_;
    const Duration patience_;  // longest time without progress, over all attempts
    Instant moved_ = monotonic_now();
    std::uint64_t most_ = 0;
    std::uint64_t reconnects_ = 0;
    Duration pause_ = kFirstPause;
    bool login_next_ = false;
    std::optional<FinalReport> lost_;
    std::string why_;
    std::optional<int> signal_;
};

TransferRun::TransferRun(const TransferCommand& command, const Run& run, Subject subject)
    : command_(command), run_(run), subject_(std::move(subject)) {}

FinalReport TransferRun::run() {
    const CommonOptions& options = command_.common;
    const ShardOptions& shards = command_.tree.shards;
    if (shards.shard && !command_.tree.what.dry_run) {
        auto opened = JobRecord::open(subject_.job, shards.of_job(command_.sources, subject_.destination),
                                      !options.receipt.empty());
        if (!opened) return never_began(options, opened.error());
        job_ = std::move(*opened);
    }
    const Duration patience = options.timeout.value_or(transfer::kPatience);
    auto observers =
        TransferObservers::start(options, run_.log,
                                 {.end = subject_.end,
                                  .peer = command_.peer(),
                                  .streaming = command_.streaming,
                                  .tries_again_for = command_.resumable() ? std::optional(patience) : std::nullopt,
                                  .card = subject_.card},
                                 subject_.print);
    if (!observers) return never_began(options, observers.error());
    observers_ = std::move(*observers);
    observers_->show_on(run_.terminal);
    KnownPathsFile known_paths(run_.log, KnownPaths::of_process());
    known_paths.load();

    Reconnects reconnects(*this, patience);
    const auto repeats = [this](const Attempt& one) {
        return one.end != Attempt::End::final && (command_.resumable() || one.untouched);
    };
    Attempt last = attempt(std::nullopt);
    FinalReport report;
    if (last.end == Attempt::End::unreachable || !repeats(last)) {
        report = std::move(last.report);
    } else {
        bool goes_on = true;
        while (goes_on && repeats(last) && reconnects.has_time_after(last)) {
            reconnects.take(last);
            goes_on = reconnects.wait();
            if (!goes_on) break;
            last = attempt(reconnects.left());
            if (last.end == Attempt::End::lost || last.end == Attempt::End::final) reconnects.count();
        }
        report = goes_on ? reconnects.sum(std::move(last.report)) : reconnects.give_up();
    }
    known_paths.save();
    observers_->finish(report);
    return report;
}

bool TransferRun::known_is_due() const {
    if (!remote_ || remote_->ended()) return false;
    return login_ != Login::unanswered || monotonic_now() - logged_in_ < kLoginsApart;
}

TransferRun::Attempt TransferRun::attempt(std::optional<Duration> left) {
    Attempt made;
    if (left && known_is_due()) {
        made = connect({.credentials = remote_->credentials(),
                        .addresses = remote_->addresses(),
                        .remote = remote_,
                        .left = std::min(*left, kAnswerWithin),
                        .known = true});
        const bool silent = made.end == Attempt::End::unreachable && !made.report.connected;
        const Login next = silent ? Login::unanswered : Login::works;
        if (login_ != Login::refused && login_ != next) login_.enter(next);
    } else {
        if (login_ == Login::unanswered) login_.enter(Login::works);
        logged_in_ = monotonic_now();
        auto route = look_for_route(left.has_value());
        if (route) {
            remote_ = route->remote;
            met_ = route->met;
            route->left = left;
            made = connect(*route);
        } else {
            made = not_begun(route.error());
            // A login that fails does not end the run while the known remote end may answer again.
            const bool may_answer = remote_ && !remote_->ended() && made.report.code != ExitCode::interrupted;
            if (may_answer && made.end == Attempt::End::final) {
                login_.enter(Login::refused);
                made.end = Attempt::End::unreachable;
            }
        }
    }
    // A closed port ends the waiting for a remote end whose ssh has ended, too.
    const Result<void>& status = made.report.outcome.status;
    if (remote_ && !status && status.error().code == ErrorCode::network && remote_->gone()) remote_->note_refused();
    made.login_next = remote_ && !known_is_due();
    return made;
}

/// May block while names are looked up or ssh connects. If `again`, the observers are updated about the outage
/// meanwhile.
Result<Route> TransferRun::look_for_route(bool again) {
    const auto find = [this]() -> Result<Route> {
        if (met_) return route_over(met_);
        if (!command_.remote) return find_route(command_, run_, subject_.program, {});
        auto task = request();
        // While the known remote end may answer, nobody is asked for a password.
        const bool may_ask = !remote_ || remote_->ended();
        return task ? find_route(command_, run_, subject_.program, std::move(*task), may_ask) : task.error();
    };
    if (!again) return find();
    std::future<Result<Route>> found;
    try {
        found = std::async(std::launch::async, find);
    } catch (const std::system_error&) {
        return find();  // no thread is available: the observers are updated afterwards
    }
    while (found.wait_for(SignalWaiter::kTurn) != std::future_status::ready) {
        observers_->look_at_nothing(monotonic_now(), TransferObservers::Screen::leave);
    }
    return found.get();
}

TransferRun::Attempt TransferRun::connect(const Route& route) {
    receipt_.reset();  // that of an earlier connection
    auto receipt = open_receipt(command_.common);
    if (!receipt) return not_begun(receipt.error());
    receipt_ = std::move(*receipt);
    auto transfer = start(route);
    if (!transfer) return not_begun(transfer.error());
    if (const std::string advice = transfer->buffer_advice(); !advice.empty()) {
        receives() ? run_.log.info(advice) : run_.log.detail(advice);
    }
    return Connection(*this, route, *transfer).serve();
}

TransferRun::Attempt TransferRun::not_begun(const Error& error) const {
    Attempt made{.report = never_began(command_.common, error), .untouched = true};
    made.report.outcome = observers_->account().whole(std::move(made.report.outcome));
    // Name lookup and ssh use the same network, so their errors count too.
    const bool away =
        error.code == ErrorCode::network || error.code == ErrorCode::no_route || error.code == ErrorCode::timeout;
    if (away) made.end = Attempt::End::unreachable;
    return made;
}

void TransferRun::leave(FinalReport report) {
    if (receipt_) receipt_->discard();
    observers_->finish(report);
    // leave() ends the process, so the control socket must be removed first.
    observers_.reset();
    run_.leave(report);
    std::abort();
}

}  // namespace udtx::apps
