#include "dial/attempt_waiter.hpp"

#include <algorithm>
#include <utility>

#include "common/units.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// After the time to wind up: so long to close without the other side's answer.
constexpr Duration kCloseWithin = std::chrono::milliseconds(300);

}  // namespace

AttemptWaiter::AttemptWaiter(const Setup& setup, DialHandler& dial, const transfer::Job& job,
                             const std::atomic<bool>& done)
    : setup_(setup), dial_(dial), job_(job), done_(done), start_(monotonic_now()), last_moved_(start_) {
    setup_.observers.begin_connection(start_);
}

bool AttemptWaiter::wait() {
    while (!done_ && !setup_.hopeless()) {
        const auto signal = setup_.signals.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        if (signal && !interrupt(*signal, now)) return false;
        const Duration since = now - given_up_at_;
        if (given_up_ && since >= setup_.wind_up_within && !std::exchange(closed_, true)) ask_to_end();
        if (given_up_ && since >= setup_.wind_up_within + kCloseWithin) return false;
        if (setup_.far_end_gone()) dial_.suspect_end();
        const auto progress = job_.progress();
        show(now, progress);
        end_if_overdue(now, progress);
    }
    end_ = monotonic_now();
    setup_.observers.clear_screen();
    return true;
}

Duration AttemptWaiter::elapsed() const { return end_.value_or(monotonic_now()) - start_; }

void AttemptWaiter::show(Instant now, const transfer::Progress& progress) {
    const auto cap = setup_.observers.new_cap(now);
    if (cap) {
        setup_.log.info(describe_rate_cap(*cap));
        dial_.set_max_rate(*cap);
    }
    const auto stats = dial_.final_stats();
    stats_age_ = stats ? std::max(now - dial_.stats_at(), Duration::zero()) : Duration::zero();
    dial_.sample_stats();  // for the next time
    look(now, progress, stats);
}

void AttemptWaiter::look(Instant now, const transfer::Progress& progress, const std::optional<ConnectionStats>& stats) {
    setup_.observers.look(now, {.progress = progress,
                                .stats = stats,
                                .stats_age = stats_age_,
                                .protocol = setup_.transport.thread_time(),
                                .process = process_time(),
                                .writing = setup_.writing()});
}

void AttemptWaiter::look_back() {
    stats_age_ = Duration::zero();
    look(end_.value_or(monotonic_now()), job_.progress(), dial_.final_stats());
}

bool AttemptWaiter::interrupt(int signal, Instant now) {
    const auto wish = interruption_.on_signal(signal, now);
    if (wish == Interruption::Wish::wind_up) {
        give_up(now, ErrorCode::interrupted,
                std::string("interrupted by ") + signal_name(signal) +
                    (setup_.end == DataEnd::sender ? " at the sender" : " at the receiver"));
    }
    return wish != Interruption::Wish::leave;
}

void AttemptWaiter::give_up(Instant now, ErrorCode code, std::string reason) {
    if (!given_up_) given_up_at_ = now;
    given_up_ = Error{code, std::move(reason)};
    ask_to_end();
}

void AttemptWaiter::end_if_overdue(Instant now, const transfer::Progress& progress) {
    // The end of a connection that was lost is no progress.
    if (progress.phase == transfer::Phase::done) return;
    const auto& limit = setup_.options.timeout;
    const Duration idle = stall_.idle(now - start_, progress);
    last_moved_ = now - idle;
    // The handshake has its own limit.
    if (given_up_ || progress.phase == transfer::Phase::connect || (setup_.streaming && !limit)) return;
    const Duration patience = limit.value_or(kDefaultPatience);
    if (idle < patience) return;
    give_up(now, ErrorCode::timeout, "nothing moved for " + format_elapsed(patience));
}

}  // namespace udtx::apps
