// A transfer that outlives its connection: the side that dialled dials again, and what is proven at the receiver is not
// sent again.
#pragma once

#include <algorithm>
#include <functional>
#include <future>
#include <optional>
#include <system_error>

#include "common/log.hpp"
#include "common/signals.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "udtx/config.hpp"
#include "udtx/monotonic_clock.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// One connection's worth of a transfer.
struct Attempt {
    enum class End {
        final,        ///< there is no point in another
        lost,         ///< it was up, and fell silent
        unreachable,  ///< it never was up
    };
    FinalReport report;
    End end = End::final;
    Instant last_moved{};  ///< when there was progress
};

/// Of a connection that is over.
[[nodiscard]] Attempt::End end_of(const transfer::Transfer& transfer);
/// Of an attempt that came to no connection: names and ssh go over the same lines.
[[nodiscard]] Attempt::End end_of(const Error& error);

struct ReconnectSetup {
    Duration patience{};     ///< without progress, all attempts together
    bool resumable = false;  ///< else there is but one attempt
    bool over_ssh = false;   ///< each attempt logs in
    Log& log;
    SignalWaiter& signals;
    TransferObservers& observers;
};

/// Makes attempts until one has a final end or patience is over. `attempt(left)`: what is left of patience, none at the
/// first. The last report counts what the connections before it came to.
[[nodiscard]] FinalReport keep_trying(const ReconnectSetup& setup,
                                      const std::function<Attempt(std::optional<Duration> left)>& attempt);

/// Dialling again ends with patience.
inline void dial_within(TransportConfig& config, std::optional<Duration> left) {
    constexpr Duration kLeast = std::chrono::milliseconds(1);
    if (left) config.handshake_timeout = std::min(config.handshake_timeout, std::max(*left, kLeast));
}

/// Runs what may block for as long as names are looked up or ssh tries. Those who observe hear of the outage meanwhile,
/// if there was a connection before.
template <class Make>
[[nodiscard]] auto make_while_observed(TransferObservers& observers, bool again, const Make& make) {
    if (!again) return make();
    std::future<decltype(make())> made;
    try {
        made = std::async(std::launch::async, make);
    } catch (const std::system_error&) {
        return make();  // no thread to be had: they hear of it afterwards
    }
    while (made.wait_for(SignalWaiter::kTurn) != std::future_status::ready) {
        observers.look_at_nothing(monotonic_now(), TransferObservers::Screen::leave);
    }
    return made.get();
}

}  // namespace udtx::apps
