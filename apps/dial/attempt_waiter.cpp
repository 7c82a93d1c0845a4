#include "dial/attempt_waiter.hpp"

#include <string>

#include "common/units.hpp"
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

}  // namespace udtx::apps
