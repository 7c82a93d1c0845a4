// Controllers with a window: CUBIC and LIA over slow start with HyStart++.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "congestion/coupling.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

// HyStart++ (RFC 9406): slow start that ends when the round-trip time grows, before the queue is full.

class HyStart {
  public:
    static constexpr Duration kMinThreshold = std::chrono::milliseconds(4);
    static constexpr Duration kMaxThreshold = std::chrono::milliseconds(16);
    static constexpr int kThresholdDivisor = 8;
    static constexpr std::uint32_t kSamples = 8;
    static constexpr double kConservativeDivisor = 4.0;
    static constexpr int kConservativeRounds = 5;

    enum class Verdict : std::uint8_t { slow_start, conservative, done };

    /// Call it for each feedback in slow start, with the packets that it acknowledged.
    [[nodiscard]] Verdict on_ack(const CongestionFeedback& feedback);
    void restart() { *this = HyStart(); }

  private:
    void end_round(const CongestionFeedback& feedback);
    void judge();

    std::optional<PacketNumber> window_end_;  // the round ends when this packet is acknowledged
    std::uint32_t samples_ = 0;
    std::optional<Duration> last_round_;  // smallest RTT of the round before
    std::optional<Duration> this_round_;
    std::optional<Duration> baseline_;  // smallest RTT when conservative slow start began; set = in it
    int rounds_ = 0;                    // of conservative slow start
};

// Common part of window-based controllers that react to loss: slow start with HyStart++ (RFC 9406), one reduction per
// round trip, pauses, timeouts, pacing. Derived classes say how else the window grows and how far it shrinks.

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

// CUBIC (RFC 9438) with HyStart++ (RFC 9406), paced. Windows in bytes. docs/lab/controllers.md lists equations and
// deviations.

class Cubic final : public LossWindow {
  public:
    static constexpr double kC = 0.4;     // segments/s^3
    static constexpr double kBeta = 0.7;  // multiplicative decrease

    using LossWindow::LossWindow;

    // For tests; bytes.
    [[nodiscard]] double window_max() const noexcept { return window_max_; }
    /// K: time from the start of the epoch until the window is back at W_max, s.
    [[nodiscard]] double plateau_seconds() const noexcept { return k_; }

  private:
    void avoid(const CongestionFeedback& feedback) override;
    void reduce() override;
    void on_unused(Duration time) override;
    void on_pause() override { epoch_.reset(); }
    void start_epoch(Instant now);
    [[nodiscard]] double cubic_at(double seconds) const;

    double window_max_ = 0.0;  // W_max
    double k_ = 0.0;
    double estimate_ = 0.0;      // W_est, the window that Reno would have
    double prior_window_ = 0.0;  // cwnd_prior, at the last congestion event
    std::optional<Instant> epoch_;
};

// LIA, coupled congestion control of MPTCP (RFC 6356): all paths together take at most what one flow would get on the
// best of them. A path without siblings is NewReno.

class Lia final : public LossWindow {
  public:
    /// Null: a path without siblings.
    explicit Lia(const CongestionOptions& options, std::shared_ptr<CouplingGroup> group = {});
    ~Lia() override { group_->leave(id_); }
    Lia(const Lia&) = delete;
    Lia& operator=(const Lia&) = delete;

    void on_feedback(const CongestionFeedback& feedback) override;

  private:
    void avoid(const CongestionFeedback& feedback) override;
    void reduce() override;

    std::shared_ptr<CouplingGroup> group_;
    CouplingGroup::Id id_;
};

}  // namespace udtx::congestion
