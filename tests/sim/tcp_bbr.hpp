// BBR as in the Linux kernel's tcp_bbr.c (version 1; Cardwell et al., "BBR: Congestion-Based Congestion Control",
// 2016). It is the most common competitor of our flows. The model is for the simulator only and counts in segments.
//
// Left out: the policer's long-term bandwidth, the aggregation of acknowledgements (the simulated receiver acknowledges
// every segment), and idle restart (the flow always has data).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/prng.hpp"
#include "udtx/rate.hpp"

namespace udtx::sim {

/// The information of one acknowledgement.
struct TcpAck {
    Instant now;
    double rtt = 0.0;                   ///< s
    double rate = 0.0;                  ///< delivery-rate sample, segments/s
    std::uint64_t prior_delivered = 0;  ///< total delivered when the acknowledged segment was sent
    std::uint64_t delivered = 0;        ///< total now
    std::uint64_t prior_in_flight = 0;
    std::uint64_t in_flight = 0;
    std::uint32_t acked = 0;
    std::uint32_t lost = 0;
    bool rate_limited = false;  ///< the sample was taken while ProbeRTT held the flow back
    bool in_recovery = false;   ///< after this acknowledgement
};

class TcpBbr {
  public:
    explicit TcpBbr(std::uint64_t seed) : prng_(seed) {}

    void on_ack(const TcpAck& ack);
    void on_recovery();  ///< a loss happened outside recovery
    void on_timeout();   ///< retransmission timeout: all data in flight is lost
    [[nodiscard]] double window() const noexcept { return window_; }       ///< segments
    [[nodiscard]] double pacing_rate() const noexcept { return pacing_; }  ///< segments/s
    [[nodiscard]] double burst() const noexcept;                           ///< segments sent at once
    [[nodiscard]] bool probing_rtt() const noexcept { return mode_ == Mode::probe_rtt; }
    [[nodiscard]] bool startup() const noexcept { return mode_ == Mode::startup; }
    [[nodiscard]] double bandwidth() const noexcept;  ///< segments/s

  private:
    enum class Mode : std::uint8_t { startup, drain, probe_bw, probe_rtt };

    void update_bandwidth(const TcpAck& ack);
    void update_cycle(const TcpAck& ack);
    void check_full(const TcpAck& ack);
    void check_drain(const TcpAck& ack);
    void update_min_rtt(const TcpAck& ack);
    void hold_probe_rtt(const TcpAck& ack);
    void enter_probe_bw(Instant now);
    void set_window(const TcpAck& ack);
    void recover_or_restore(const TcpAck& ack);
    void save_window();
    [[nodiscard]] double pacing_gain() const noexcept;
    [[nodiscard]] double window_gain() const noexcept;
    [[nodiscard]] double inflight(double gain) const noexcept;

    static constexpr std::size_t kBandwidthRounds = 10;
    static constexpr double kInitialWindow = 10.0;

    Prng prng_;
    Mode mode_ = Mode::startup;
    double window_ = kInitialWindow;
    double pacing_ = 1000.0;

    std::array<double, kBandwidthRounds> best_{};  // maximum of each of the last rounds
    std::uint64_t round_ = 0;
    std::uint64_t next_round_delivered_ = 0;
    bool round_start_ = false;

    double full_bandwidth_ = 0.0;
    int full_count_ = 0;
    bool full_ = false;

    std::size_t phase_ = 0;
    Instant phase_start_;

    double min_rtt_ = 0.0;
    Instant min_rtt_stamp_;
    std::optional<Instant> probe_rtt_done_;
    bool probe_rtt_round_done_ = false;
    double prior_window_ = 0.0;

    bool was_in_recovery_ = false;
    bool conserve_ = false;  // packet conservation: one out for one in, in the first round of recovery
};

}  // namespace udtx::sim
