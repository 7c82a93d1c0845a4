// Lets a transfer survive the loss of its connection: the side that connected reconnects. Data that the receiver has
// confirmed is not sent again.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "common/log.hpp"
#include "common/process.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "ssh/remote_end.hpp"
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

// Connects again to a remote end that ssh started: it still waits with its port and key. Another login may need another
// one-time password, so it comes second.

class KnownRemote {
  public:
    /// Makes an attempt over the known remote end or after a login, whichever is due. `Route` has the members
    /// `credentials`, `addresses`, `remote`, `left` and `known`. `find` logs in and returns a Result<Route>; `use`
    /// makes the attempt; `fail` makes the Attempt for an error of `find`.
    template <class Find, class Use, class Fail>
    [[nodiscard]] Attempt attempt(std::optional<Duration> left, const Find& find, const Use& use, const Fail& fail) {
        Attempt made = attempt_once(left, find, use, fail);
        made.login_next = remote_ && !is_due();
        return made;
    }

  private:
    /// Time for an answer before a login is tried.
    static constexpr Duration kAnswerWithin = std::chrono::seconds(5);
    /// A server may limit the number of logins.
    static constexpr Duration kLoginsApart = std::chrono::seconds(15);

    template <class Find, class Use, class Fail>
    [[nodiscard]] Attempt attempt_once(std::optional<Duration> left, const Find& find, const Use& use,
                                       const Fail& fail) {
        if (left && is_due()) {
            auto route = find(remote_);
            route->left = std::min(*left, kAnswerWithin);
            route->known = true;
            Attempt made = use(*route);
            unanswered_ = made.end == Attempt::End::unreachable && !made.report.connected;
            return made;
        }
        unanswered_ = false;
        logged_in_ = monotonic_now();
        auto route = find(nullptr);
        if (!route) return judge(fail(route.error()));
        remote_ = route->remote;
        route->left = left;
        return use(*route);
    }

    [[nodiscard]] bool is_due() const {
        if (!remote_ || remote_->gone()) return false;
        return !unanswered_ || refused_ || monotonic_now() - logged_in_ < kLoginsApart;
    }

    /// A login that fails does not end the run while the known remote end may answer again.
    [[nodiscard]] Attempt judge(Attempt failed) {
        const bool may_answer = remote_ && !remote_->gone() && failed.report.code != ExitCode::interrupted;
        if (may_answer && failed.end == Attempt::End::final) {
            refused_ = true;
            failed.end = Attempt::End::unreachable;
        }
        return failed;
    }

    std::shared_ptr<RemoteEnd> remote_;
    bool unanswered_ = false;  // the last attempt over `remote_`
    bool refused_ = false;     // a login; another one is not tried
    Instant logged_in_{};
};

}  // namespace udtx::apps
