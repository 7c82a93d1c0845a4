// A trial for losses that no delay explains: send less for a moment and see whether the loss ratio falls.
//
// Random loss takes the same part of any rate. A policer drops the excess, and so does a queue that was already full
// when the base was measured. Then a lower rate loses a smaller part.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxTrial {
  public:
    enum class Verdict : std::uint8_t { none, random, congestion };

    /// `loss`: recent loss ratio of all packets; `rtt`: seconds, with the queue.
    Verdict on_feedback(const CongestionFeedback& feedback, double loss, double rtt);
    /// Ends a running trial without a verdict.
    void abandon();
    /// Factor of the rate now.
    [[nodiscard]] double factor() const noexcept { return lowered_ ? kLowered : 1.0; }
    /// Loss ratio during the trial, valid after a verdict.
    [[nodiscard]] double remaining() const noexcept { return packets_ > 0.0 ? (lost_ + 1.0) / packets_ : 0.0; }
    /// Loss ratio that the last trial found random, with a margin for chance; 0..1.
    [[nodiscard]] double borne() const noexcept { return borne_; }
    [[nodiscard]] bool running() const noexcept { return started_.has_value(); }

  private:
    static constexpr double kLowered = 0.5;

    void count(const CongestionFeedback& feedback);

    std::optional<Instant> started_;
    bool lowered_ = false;
    Instant raised_;  // when the lower rate ended
    Instant updated_;
    double recent_lost_ = 0.0;     // recently lost packets
    double recent_packets_ = 0.0;  // all packets in the same time
    double before_ = 0.0;
    double lost_ = 0.0;
    double packets_ = 0.0;
    std::optional<Instant> next_;
    double borne_ = 0.0;
    double pause_ = 0.0;  // s until the next trial; doubles while the verdict is random
};

}  // namespace udtx::congestion
