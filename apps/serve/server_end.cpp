#include "serve/server_end.hpp"

#include <csignal>

namespace udtx::apps {

ServerEnd::Wish ServerEnd::on_signal(int signal, Instant now) noexcept {
    if (signal == SIGTERM && !one_off_ && !interrupted()) {
        if (!draining_since_) {
            draining_since_ = now;
            return Wish::drain;
        }
        if (now - *draining_since_ < Interruption::kOneGesture) return Wish::nothing;
    }
    switch (interruption_.on_signal(signal, now)) {
        case Interruption::Wish::nothing:
            return Wish::nothing;
        case Interruption::Wish::leave:
            return Wish::leave;
        case Interruption::Wish::wind_up:
            break;
    }
    deadline_ = now + kInterruptGrace;
    return Wish::wind_up;
}

}  // namespace udtx::apps
