#include "udtx/monotonic_clock.hpp"

#include <chrono>

namespace udtx {

Instant monotonic_now() noexcept {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

}  // namespace udtx
