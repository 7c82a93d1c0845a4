// BBR's model of the path: bandwidth, bytes in flight, RTT (draft-ietf-ccwg-bbr, sections 5.5.1 to 5.5.9 and 5.5.10.3).
// The state machine in bbr.hpp decides when to probe for more.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "congestion/bbr/packets.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class BbrModel {
  public:
    static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
    static constexpr double kBeta = 0.7;
    static constexpr double kLossThreshold = 0.02;
    static constexpr Duration kMinRttWindow = std::chrono::seconds(10);
    static constexpr Duration kProbeRttInterval = std::chrono::seconds(5);
    static constexpr std::uint64_t kExtraAckedRounds = 10;

    /// `pacing` in bytes/s; `restrained`: by ProbeRTT.
    void on_sent(const CongestionSent& packet, double pacing, bool restrained);
    /// Adds to the totals and returns the sample of this feedback. Then call update(), the state machine, finish(), in
    /// this order.
    [[nodiscard]] BbrSample take(const CongestionFeedback& feedback);
    /// Updates rounds, bandwidth, minimum RTT and aggregation. `probing`: losses are expected and do not lower the
    /// bounds.
    void update(const BbrSample& sample, std::optional<Duration> rtt, bool probing, double window);
    void finish(const BbrSample& sample);
    void note_loss();
    [[nodiscard]] const BbrPacket* find(PacketNumber number) const { return packets_.find(number); }

    void start_round() noexcept { next_round_delivered_ = delivered_; }
    void reset_short_term() noexcept { bw_short_term_ = inflight_short_term_ = kUnlimited; }
    void reset_signals() noexcept;
    void advance_bandwidth_filter() noexcept;
    void restart_aggregation(Instant now) noexcept;
    void renew_probe_rtt(Instant now) noexcept { probe_rtt_stamp_ = now; }

    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    [[nodiscard]] bool round_start() const noexcept { return round_start_; }
    [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }
    [[nodiscard]] bool loss_round_start() const noexcept { return loss_round_start_; }
    [[nodiscard]] bool probe_rtt_due() const noexcept { return probe_rtt_due_; }
    [[nodiscard]] double max_bandwidth() const noexcept;
    [[nodiscard]] double bandwidth() const noexcept;  ///< bounded by the short-term model
    [[nodiscard]] double inflight_short_term() const noexcept { return inflight_short_term_; }
    [[nodiscard]] double inflight_latest() const noexcept { return inflight_latest_; }
    [[nodiscard]] std::optional<Duration> min_rtt() const noexcept { return min_rtt_; }
    [[nodiscard]] double bdp(double bandwidth) const noexcept;  ///< 0 without a minimum RTT
    [[nodiscard]] double extra_acked() const noexcept;

  private:
    void update_round(const BbrSample& sample);
    void update_bandwidth(const BbrSample& sample);
    void update_bounds(const BbrSample& sample, bool probing, double window);
    void update_aggregation(const BbrSample& sample, double window);
    void update_min_rtt(Instant now, std::optional<Duration> rtt);

    BbrPackets packets_;
    std::uint64_t delivered_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t restrained_until_ = 0;  // bytes of total delivery

    std::uint64_t next_round_delivered_ = 0;
    std::uint64_t rounds_ = 0;
    bool round_start_ = false;

    std::array<double, 2> bandwidth_{};  // largest of each of the last two ProbeBW cycles
    double bw_short_term_ = kUnlimited;
    double inflight_short_term_ = kUnlimited;
    double bw_latest_ = 0.0;
    double inflight_latest_ = 0.0;
    std::uint64_t loss_round_delivered_ = 0;
    bool loss_round_start_ = false;
    bool loss_in_round_ = false;

    std::optional<Duration> min_rtt_;
    Instant min_rtt_stamp_;
    std::optional<Duration> probe_rtt_min_;
    Instant probe_rtt_stamp_;
    bool probe_rtt_due_ = false;

    std::deque<std::pair<std::uint64_t, double>> extra_acked_;  // (round, bytes), bytes descending: windowed maximum
    double aggregated_ = 0.0;
    std::optional<Instant> aggregation_start_;
};

}  // namespace udtx::congestion
