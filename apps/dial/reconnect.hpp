// Lets a transfer survive the loss of its connection: the side that connected reconnects. Data that the receiver has
// confirmed is not sent again.
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

/// One attempt: at most one connection of a transfer.
struct Attempt {
    enum class End {
        final,        ///< another attempt cannot help
        lost,         ///< the connection existed, and an end waited in vain for the other
        sent_away,    ///< the server is being stopped: its successor may serve the transfer
        unreachable,  ///< no connection was made
    };
    FinalReport report;
    End end = End::final;
    Instant last_moved{};     ///< time of the last progress
    bool untouched = false;   ///< nothing was delivered or consumed: the transfer may begin once more
    bool login_next = false;  ///< the next attempt logs in by ssh
};

/// Classifies a connection that has ended.
[[nodiscard]] Attempt::End end_of(const transfer::Transfer& transfer);
/// Classifies an attempt without a connection. Name lookup and ssh use the same network, so their errors count too.
[[nodiscard]] Attempt::End end_of(const Error& error);

struct ReconnectSetup {
    Duration patience{};     ///< longest time without progress, over all attempts
    bool resumable = false;  ///< false: no attempt follows one that has begun
    Log& log;
    SignalWaiter& signals;
    TransferObservers& observers;
};

/// Makes attempts until one is final or the patience is used up. `left` in `attempt(left)` is the remaining patience;
/// it is empty for the first attempt. The last report includes the results of the earlier connections.
[[nodiscard]] FinalReport keep_trying(const ReconnectSetup& setup,
                                      const std::function<Attempt(std::optional<Duration> left)>& attempt);

/// Limits the handshake of a reconnect to the remaining patience.
inline void dial_within(TransportConfig& config, std::optional<Duration> left) {
    constexpr Duration kLeast = std::chrono::milliseconds(1);
    if (left) config.handshake_timeout = std::min(config.handshake_timeout, std::max(*left, kLeast));
}

/// Runs `make`, which may block while names are looked up or ssh connects. If `again`, the observers are updated about
/// the outage meanwhile.
template <class Make>
[[nodiscard]] auto make_while_observed(TransferObservers& observers, bool again, const Make& make) {
    if (!again) return make();
    std::future<decltype(make())> made;
    try {
        made = std::async(std::launch::async, make);
    } catch (const std::system_error&) {
        return make();  // no thread is available: the observers are updated afterwards
    }
    while (made.wait_for(SignalWaiter::kTurn) != std::future_status::ready) {
        observers.look_at_nothing(monotonic_now(), TransferObservers::Screen::leave);
    }
    return made.get();
}

}  // namespace udtx::apps
