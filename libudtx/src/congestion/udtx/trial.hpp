// A trial of losses that no delay explains: send less for a moment and see whether fewer are lost.
//
// Random loss takes the same part of any rate. A policer, or a queue that was full already when the base delay was
// measured, drops what is too much: at a lower rate the part falls.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxTrial {
  public:
    enum class Verdict : std::uint8_t { none, random, congestion };

    /// `loss`: part of all packets lost lately; `rtt`, seconds, with the queue.
    Verdict on_feedback(const CongestionFeedback& feedback, double loss, double rtt);
    /// Ends one that runs without a verdict.
    void abandon();
    /// Factor of the rate now.
    [[nodiscard]] double factor() const noexcept { return lowered_ ? kLowered : 1.0; }
    /// Part that was lost nevertheless, after a verdict.
    [[nodiscard]] double remaining() const noexcept { return packets_ > 0.0 ? (lost_ + 1.0) / packets_ : 0.0; }
    /// Loss up to which the last trial has found it random, with room for chance; 0..1.
    [[nodiscard]] double borne() const noexcept { return borne_; }
    [[nodiscard]] bool running() const noexcept { return started_.has_value(); }

  private:
    static constexpr double kLowered = 0.5;

    void count(const CongestionFeedback& feedback);

    std::optional<Instant> started_;
    bool lowered_ = false;
    Instant raised_;  // when it ended
    Instant updated_;
    double recent_lost_ = 0.0;     // packets lately,
    double recent_packets_ = 0.0;  // of so many
    double before_ = 0.0;
    double lost_ = 0.0;
    double packets_ = 0.0;
    std::optional<Instant> next_;
    double borne_ = 0.0;
    double pause_ = 0.0;  // s until the next trial; doubles while the verdict is random
};

}  // namespace udtx::congestion
