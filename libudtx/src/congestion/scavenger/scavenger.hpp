// Policy `low`: uses what others leave. After LEDBAT (RFC 6817) and LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
// docs/lab/controllers.md lists the deviations and their reasons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "congestion/scavenger/company.hpp"
#include "congestion/udtx/delay.hpp"
#include "congestion/udtx/jitter.hpp"
#include "congestion/udtx/loss.hpp"
#include "congestion/udtx/mtr.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Smallest value of the last minute, which expires in steps of ten seconds.
class BaseDelay {
  public:
    static constexpr Duration kStep = std::chrono::seconds(10);
    static constexpr std::size_t kSteps = 6;
    Duration add(Instant now, Duration delay);
    [[nodiscard]] Duration least() const;  ///< zero before the first value

  private:
    std::array<Duration, kSteps> least_{};
    std::size_t used_ = 0;  // ring of steps, newest at (used_ - 1) % kSteps
    Instant step_start_;
};

class Scavenger final : public CongestionController {
  public:
    static constexpr Duration kTarget = std::chrono::milliseconds(15);
    static constexpr Duration kLeastTarget = std::chrono::milliseconds(1);

    explicit Scavenger(const CongestionOptions& options);

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] std::uint32_t probe_packets() const override;
    [[nodiscard]] CongestionReport report() const override;

    // For tests.
    [[nodiscard]] Duration target() const noexcept { return target_; }
    [[nodiscard]] Duration queue_delay() const noexcept { return queue_; }

  private:
    enum class Phase : std::uint8_t { slow_start, steady, pause };
    static constexpr std::size_t kFilter = 4;

    void measure(const CongestionFeedback& feedback);
    void end_round(const CongestionFeedback& feedback);
    void adjust(const CongestionFeedback& feedback);
    void follow_phase(const CongestionFeedback& feedback);
    void on_losses(const CongestionFeedback& feedback);
    void halve();
    [[nodiscard]] double change_of_window(Instant now) const;
    [[nodiscard]] std::optional<double> round_share(Instant now) const;
    [[nodiscard]] double packet_time() const;
    /// Queue that the flow may keep when alone (M). It leaves half of the link to a `udtx` flow beside it.
    [[nodiscard]] Duration most_queue() const;
    void enter(Phase phase, const CongestionFeedback& feedback);
    [[nodiscard]] double least_window() const noexcept;

    CongestionOptions options_;
    double segment_;
    double window_;
    double resume_ = 0.0;        // window before the pause
    double known_ = 0.0;         // largest window that fitted lately
    double round_window_ = 0.0;  // at the start of the round
    double floor_ = 0.0;         // least window in this round
    bool resuming_ = false;      // in the round after a pause
    bool held_ = false;          // no decrease in this round
    Phase phase_ = Phase::slow_start;

    BaseDelay base_;
    std::array<Duration, kFilter> recent_{};
    std::size_t recent_count_ = 0;
    Duration queue_{};
    Duration target_ = kTarget;
    ScavengerCompany company_;
    double before_trial_ = 0.0;  // window before the trial
    Instant round_start_;
    bool round_limited_ = false;  // the application had too little data
    UdtxMtr mtr_;
    UdtxJitter jitter_;
    JitterNoise noise_;
    UdtxDelay delay_;  // used to judge losses
    UdtxLoss loss_;
    bool overflowed_ = false;  // the latest losses show that the queue overflowed
    Instant target_time_;      // last change of target_
    Duration smoothed_rtt_{};

    // State of a round trip. It ends when the last packet sent before its start is acknowledged.
    std::optional<PacketNumber> round_end_;
    std::uint64_t round_acked_ = 0;  // bytes
    std::uint64_t round_lost_ = 0;
    std::uint64_t last_round_acked_ = 0;
    Duration round_queue_{};  // largest
    Duration last_round_queue_{};
    bool halved_ = false;
    std::optional<PacketNumber> answered_;  // losses up to here belong to an overflow already answered

    Instant phase_start_;
    int phase_rounds_ = 0;
    Duration pause_length_{};
    bool window_used_ = false;
};

}  // namespace udtx::congestion
