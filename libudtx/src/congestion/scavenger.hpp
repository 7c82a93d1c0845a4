// Policy `low`: uses what others leave, and finds out whether there are others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "congestion/udtx/seen.hpp"
#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"

namespace udtx::congestion {

// Decides whether a flow of policy `low` has the link to itself, and so whose queue it sees.
//
// A flow that gets less of the link than its capacity makes no queue. Others then keep the queue, and are to keep the
// link. docs/lab/controllers.md, `low`, Company.

class ScavengerCompany {
  public:
    static constexpr double kLeastGrowth = 1.0 / 128;  ///< of the window, per round trip
    static constexpr double kFastGrowth = 1.0 / 8;     ///< the same, while the window is known or believed to fit

    /// Result of one round trip.
    struct Round {
        Instant now;
        Duration rtt{};
        Duration longest{};           ///< longest queueing delay
        std::optional<double> share;  ///< of the link; unknown if the window was not filled
    };
    void on_round(const Round& round);
    /// `queue`: queueing delay now. `most`: queue that the flow may keep when it is alone, at least 1 ms.
    void on_feedback(Instant now, Duration queue, Duration most);
    /// The queue overflowed, so the flow cannot get more.
    void on_overflow(Instant now);

    [[nodiscard]] bool present() const noexcept { return present_; }
    /// Whether a trial runs, which finds out how much the flow can get. The delay may stay high without a queue, or
    /// another `low` flow may keep the queue.
    [[nodiscard]] bool trial() const noexcept { return trial_until_.has_value(); }
    /// Queue that the flow may keep now.
    [[nodiscard]] Duration target(Duration most) const;
    /// Whether `queue` is longer than this flow itself would make it.
    [[nodiscard]] bool foreign(Duration queue, Duration most) const;
    /// Growth of the window in a round trip in which a flow alone would grow by `alone`.
    [[nodiscard]] double growth(Instant now, double alone) const;

  private:
    bool present_ = false;
    double share_ = 1.0;
    Instant busy_;  // when the queue was last not empty
    Duration round_queue_{};
    Duration rtt_{};
    Instant last_trial_;
    std::optional<Instant> trial_until_;
    Duration trial_target_{};
};

// Policy `low`: uses what others leave. After LEDBAT (RFC 6817) and LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
// docs/lab/controllers.md lists the deviations and their reasons.

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
    UdtxRoughness roughness_{UdtxRoughness::Pacing::window};
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
