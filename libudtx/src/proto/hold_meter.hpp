// Measures how long each cause held up a connection.
#pragma once

#include <cstddef>
#include <optional>

#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::proto {

/// Order of calls: enter() with times that never go back. A cause counts from its enter() to the next.
class HoldMeter {
  public:
    void enter(Instant now, SendHold why) noexcept {
        if (since_) held_[static_cast<std::size_t>(why_)] += now - *since_;
        since_ = now;
        why_ = why;
    }
    [[nodiscard]] SendHold why() const noexcept { return why_; }
    [[nodiscard]] const HoldTimes& held() const noexcept { return held_; }

  private:
    std::optional<Instant> since_;
    SendHold why_ = SendHold::host;
    HoldTimes held_{};
};

}  // namespace udtx::proto
