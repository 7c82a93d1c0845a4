// CUBIC (RFC 9438) with HyStart++ (RFC 9406), paced. Windows in bytes; docs/congestion.md lists the equations.
#pragma once

#include <cstdint>
#include <optional>

#include "congestion/hystart.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class Cubic final : public CongestionController {
  public:
    static constexpr double kC = 0.4;     // segments/s^3
    static constexpr double kBeta = 0.7;  // multiplicative decrease

    explicit Cubic(const CongestionOptions& options);

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_mtu(std::uint32_t bytes) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] CongestionReport report() const override;

    // For tests; bytes.
    [[nodiscard]] double exact_window() const noexcept { return window_; }
    [[nodiscard]] double slow_start_threshold() const noexcept { return threshold_; }
    [[nodiscard]] double window_max() const noexcept { return window_max_; }
    /// K: time from the start of the epoch until the window is back at W_max, s.
    [[nodiscard]] double plateau_seconds() const noexcept { return k_; }

  private:
    [[nodiscard]] bool in_slow_start() const noexcept { return window_ < threshold_; }
    [[nodiscard]] bool window_used(const CongestionFeedback& feedback) const;
    void on_acked(const CongestionFeedback& feedback);
    void grow_slow_start(const CongestionFeedback& feedback);
    void grow_cubic(const CongestionFeedback& feedback);
    void on_congestion(const CongestionFeedback& feedback);
    void on_silence(const CongestionFeedback& feedback);
    void reduce();
    void start_epoch(Instant now);
    [[nodiscard]] double cubic_at(double seconds) const;

    CongestionOptions options_;
    double segment_;
    double window_;
    double threshold_;
    HyStart hystart_;

    double window_max_ = 0.0;  // W_max
    double k_ = 0.0;
    double estimate_ = 0.0;      // W_est, what Reno would have
    double prior_window_ = 0.0;  // cwnd_prior, at the last congestion event
    std::optional<Instant> epoch_;

    std::optional<PacketNumber> recovery_until_;  // losses of packets up to here belong to the last event
    bool silent_ = false;                         // since the last time-out nothing was acknowledged
    double most_in_flight_ = 0.0;                 // since the last feedback
    Duration smoothed_rtt_{};
    Duration rtt_variance_{};
    std::optional<Instant> last_feedback_;
    std::optional<Instant> last_sent_;
};

}  // namespace udtx::congestion
