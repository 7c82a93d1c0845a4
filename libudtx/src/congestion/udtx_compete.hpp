// The window of udtx beside flows that fill the queue until it overflows: CUBIC's (RFC 9438), so that each gets what
// one of them would.
//
// Only losses among long delays are events, and only those beyond what random loss explains. Every few seconds, best
// when others have just backed off as well, it drains: if the queue then empties, whoever filled it was of our kind
// or is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/sliding_extreme.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxCompete {
  public:
    /// `window` and `goal` in bytes: where it begins, and the plateau of the first curve.
    void enter(Instant now, double window, double goal);
    void leave() { *this = UdtxCompete(); }
    [[nodiscard]] bool active() const noexcept { return active_; }

    /// `congestion_losses`: lost packets of this feedback with a long delay around them. `rtt` in seconds.
    void on_feedback(const CongestionFeedback& feedback, std::uint32_t congestion_losses, double random_loss,
                     double queue, double rtt, double segment);
    [[nodiscard]] double window() const noexcept { return window_; }  ///< bytes
    /// A good moment to drain; true once.
    [[nodiscard]] bool take_drain(Instant now);

  private:
    void reduce(Instant now, double segment);

    bool active_ = false;
    double window_ = 0.0;
    double window_max_ = 0.0;
    double origin_ = 0.0;  // window at the start of the epoch
    Instant epoch_;
    PacketNumber recovery_until_ = 0;
    double losses_ = 0.0;  // this round
    double packets_ = 0.0;
    Instant round_;
    Instant last_drain_;
    bool drain_due_ = false;
    SlidingExtreme<double, std::greater<>> peaks_{std::chrono::seconds(2)};
};

}  // namespace udtx::congestion
