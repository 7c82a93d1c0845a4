// Connects again to a remote end that ssh started: it still waits with its port and key. Another login may need another
// one-time password, so it comes second.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "dial/reconnect.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/monotonic_clock.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

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
