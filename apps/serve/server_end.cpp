#include "serve/server_end.hpp"

#include <csignal>

namespace udtx::apps {

ServerEnd::Wish ServerEnd::on_signal(int signal, Instant now) noexcept {
    if (signal == SIGHUP && !one_off_) return interrupted() ? Wish::nothing : Wish::reload;
    if (signal == SIGTERM && !one_off_ && !interrupted()) {
        if (!draining_since_) {
            draining_since_ = now;
            return Wish::drain;
        }
        if (now - *draining_since_ < Interruption::kOneGesture) return Wish::repeated;
    }
    switch (interruption_.on_signal(signal, now)) {
        case Interruption::Wish::repeated:
            return Wish::repeated;
        case Interruption::Wish::leave:
            return Wish::leave;
        case Interruption::Wish::wind_up:
            break;
    }
    if (!deadline_) deadline_ = now + kInterruptGrace;
    return Wish::wind_up;
}

bool ServerEnd::drained_too_long(Instant now) noexcept {
    if (!longest_drain_ || !draining_since_ || deadline_ || now - *draining_since_ < *longest_drain_) return false;
    deadline_ = now + kInterruptGrace;
    return true;
}

}  // namespace udtx::apps
