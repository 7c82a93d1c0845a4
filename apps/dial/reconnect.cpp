#include "dial/reconnect.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/units.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(200);
// An attempt at a port costs a packet. An attempt over ssh costs a login, which a server may limit.
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr Duration kLongestPauseBeforeLogin = std::chrono::seconds(15);

/// State of all attempts so far.
class Course {
  public:
    explicit Course(const ReconnectSetup& setup) : setup_(setup) {}

    void take(Attempt& attempt) {
        login_next_ = attempt.login_next;
        const bool sent_away = attempt.end == Attempt::End::sent_away;
        if (attempt.end == Attempt::End::unreachable || (sent_away && lost_ && !moved(attempt))) {
            why_ = attempt.report.error;
            setup_.log.detail(why_);
            return;
        }
        if (moved(attempt)) {
            most_ = done_by(attempt);
            moved_ = std::max(moved_, attempt.last_moved);
            pause_ = kFirstPause;
        }
        setup_.observers.lost(monotonic_now(), attempt.report);
        lost_ = attempt.report;
        setup_.log.warn(std::string(sent_away ? "the server is being stopped" : "the connection is lost") +
                        "; reconnecting, for " + format_elapsed(left()) + " at most");
    }

    /// False: the patience is used up, or a signal arrived.
    [[nodiscard]] bool wait() {
        const Instant until = monotonic_now() + std::min(pause_, left());
        pause_ = std::min(2 * pause_, login_next_ ? kLongestPauseBeforeLogin : kLongestPause);
        for (Instant now = monotonic_now(); now < until; now = monotonic_now()) {
            const auto slice = std::chrono::ceil<std::chrono::milliseconds>(until - now);
            signal_ = setup_.signals.wait(std::min(slice, SignalWaiter::kTurn));
            if (signal_) return false;
            setup_.observers.look_at_nothing(monotonic_now(), TransferObservers::Screen::ours);
        }
        return left() > Duration::zero();
    }

    /// False if the peer gave up when the patience of this end was used up as well.
    [[nodiscard]] bool has_time_after(const Attempt& attempt) const {
        const Instant since = moved(attempt) ? std::max(moved_, attempt.last_moved) : moved_;
        return attempt.end != Attempt::End::lost || monotonic_now() + kFirstPause < since + setup_.patience;
    }

    void count() { ++reconnects_; }

    /// Remaining patience.
    [[nodiscard]] Duration left() const {
        return std::max(moved_ + setup_.patience - monotonic_now(), Duration::zero());
    }

    /// Turns the report of the last attempt into that of the whole run.
    [[nodiscard]] FinalReport sum(FinalReport last) const {
        last.reconnects = reconnects_;
        last.elapsed = setup_.observers.since_start(monotonic_now());
        return last;
    }

    /// The report of the last connection, for a run that ends without a new one.
    [[nodiscard]] FinalReport give_up() const {
        FinalReport report = sum(*lost_);
        if (signal_) {
            report.code = ExitCode::interrupted;
            report.error =
                std::string("interrupted by ") + signal_name(*signal_) + " while reconnecting: " + report.error;
        } else {
            report.error += "; nothing moved for " + format_elapsed(setup_.patience) + " while reconnecting" +
                            (why_.empty() ? std::string() : ", the last attempt: " + why_);
        }
        return report;
    }

  private:
    [[nodiscard]] static std::uint64_t done_by(const Attempt& attempt) {
        return attempt.report.progress.bytes_done + attempt.report.progress.bytes_kept;
    }
    [[nodiscard]] bool moved(const Attempt& attempt) const { return done_by(attempt) > most_; }

    const ReconnectSetup& setup_;
    Instant moved_ = monotonic_now();
    std::uint64_t most_ = 0;
    std::uint64_t reconnects_ = 0;
    Duration pause_ = kFirstPause;
    bool login_next_ = false;
    std::optional<FinalReport> lost_;
    std::string why_;
    std::optional<int> signal_;
};

}  // namespace

Attempt::End end_of(const transfer::Transfer& transfer) {
    if (transfer.cancelled()) return Attempt::End::final;
    if (!transfer.connected_for()) return Attempt::End::unreachable;
    // The other end is full, or has not given up an earlier connection of this transfer.
    const Result<void> status = transfer.outcome().status;
    const auto is = [&](ErrorCode code) { return !status && status.error().code == code; };
    if (!transfer.lost()) return is(ErrorCode::network) ? Attempt::End::unreachable : Attempt::End::final;
    return is(ErrorCode::going_away) ? Attempt::End::sent_away : Attempt::End::lost;
}

Attempt::End end_of(const Error& error) {
    const bool away =
        error.code == ErrorCode::network || error.code == ErrorCode::no_route || error.code == ErrorCode::timeout;
    return away ? Attempt::End::unreachable : Attempt::End::final;
}

FinalReport keep_trying(const ReconnectSetup& setup,
                        const std::function<Attempt(std::optional<Duration> left)>& attempt) {
    Course course(setup);
    Attempt last = attempt(std::nullopt);
    const auto repeats = [&setup](const Attempt& one) {
        return one.end != Attempt::End::final && (setup.resumable || one.untouched);
    };
    if (last.end == Attempt::End::unreachable || !repeats(last)) return std::move(last.report);
    while (repeats(last) && course.has_time_after(last)) {
        course.take(last);
        if (!course.wait()) return course.give_up();
        last = attempt(course.left());
        const bool reached = last.end == Attempt::End::lost || last.end == Attempt::End::final;
        if (reached) course.count();
    }
    return course.sum(std::move(last.report));
}

}  // namespace udtx::apps
