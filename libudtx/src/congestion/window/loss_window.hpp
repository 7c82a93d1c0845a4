// Common part of window-based controllers that react to loss: slow start with HyStart++ (RFC 9406), one reduction per
// round trip, pauses, timeouts, pacing. Derived classes say how else the window grows and how far it shrinks.
#pragma once

#include <cstdint>
#include <optional>

#include "congestion/window/hystart.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class LossWindow : public CongestionController {
  public:
    static constexpr double kMinSegments = 2.0;  ///< RFC 9002, section 7.2

    explicit LossWindow(const CongestionOptions& options);

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] CongestionReport report() const override;

    // For tests; bytes.
    [[nodiscard]] double exact_window() const noexcept { return window_; }
    [[nodiscard]] double slow_start_threshold() const noexcept { return threshold_; }

  protected:
    /// Congestion avoidance: packets of a filled window were acknowledged.
    virtual void avoid(const CongestionFeedback& feedback) = 0;
    /// A congestion event: sets threshold_, and window_ to it.
    virtual void reduce() = 0;
    /// The window was not filled for `time`.
    virtual void on_unused(Duration /*time*/) {}
    /// After a pause, growth restarts.
    virtual void on_pause() {}

    [[nodiscard]] bool in_slow_start() const noexcept { return window_ < threshold_; }

    CongestionOptions options_;
    double segment_;
    double window_;
    double threshold_;
    Duration smoothed_rtt_{};

  private:
    [[nodiscard]] bool window_used(const CongestionFeedback& feedback) const;
    void on_acked(const CongestionFeedback& feedback);
    void avoid_in_steps(const CongestionFeedback& feedback);
    void grow_slow_start(const CongestionFeedback& feedback);
    void on_silence(const CongestionFeedback& feedback);

    HyStart hystart_;
    std::optional<PacketNumber> recovery_until_;  // losses of packets up to here belong to the last event
    bool silent_ = true;                          // no ACK since the last timeout or the start
    double most_in_flight_ = 0.0;                 // since the last feedback
    Duration rtt_variance_{};
    Duration ack_spacing_{};  // nonzero only if ACKs are sparse
    std::optional<Instant> last_feedback_;
    std::optional<Instant> last_sent_;
};

}  // namespace udtx::congestion
