// Native UDT rate control (Gu & Grossman 2007; UDT 4.11 CUDTCC).
//
// Units are UDT's: the sending period P in microseconds per packet, speeds in packets/s, the window in packets of the
// current datagram size. docs/lab/controllers.md lists the equations and every deviation from UDT 4.11.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "congestion/splitmix.hpp"
#include "congestion/udt/mtr_filter.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Source of the equations. `v4_11`: the source code of UDT 4.11. `printed`: the congestion-degree paper, for both of
/// its schemes. Those have no bound of MTR/9, one decrease per loss event, an increase of at least 1/1500 packet per
/// SYN, and an MTR of single pairs.
enum class UdtForm { v4_11, printed };

class Udt final : public CongestionController {
  public:
    explicit Udt(const CongestionOptions& options, UdtForm form = UdtForm::v4_11)
        : Udt(options, std::make_unique<UdtMtr>(form == UdtForm::printed), form) {}
    Udt(const CongestionOptions& options, std::unique_ptr<MtrFilter> mtr_filter, UdtForm form = UdtForm::v4_11);

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] CongestionReport report() const override;

    /// Packets by which the rate grows per SYN interval when `bandwidth_pps` (B) is available.
    [[nodiscard]] static double increase_per_syn(double bandwidth_pps, std::uint32_t mss,
                                                 UdtForm form = UdtForm::v4_11);

    // For reports and tests.
    [[nodiscard]] double period_us() const noexcept { return period_us_; }
    [[nodiscard]] double window_packets() const noexcept { return window_packets_; }
    [[nodiscard]] double mtr_pps() const noexcept { return mtr_pps_; }
    [[nodiscard]] double arrival_pps() const noexcept { return arrival_pps_; }
    [[nodiscard]] int decrease_random() const noexcept { return decrease_random_; }
    [[nodiscard]] int average_naks() const noexcept { return average_naks_; }

  private:
    void update_estimates(const CongestionFeedback& feedback);
    void on_ack(const CongestionFeedback& feedback);
    void on_loss(const CongestionFeedback& feedback);
    void on_exp(const CongestionFeedback& feedback);
    void leave_slow_start(const CongestionFeedback& feedback);
    void increase();
    void start_epoch(PacketNumber largest_sent);
    void set_datagram(std::uint32_t bytes);
    void set_period(double period_us);
    [[nodiscard]] std::uint32_t mss() const noexcept;

    CongestionOptions options_;
    UdtForm form_;
    std::uint32_t datagram_bytes_;
    SplitMix random_;
    std::unique_ptr<MtrFilter> mtr_filter_;

    bool slow_start_ = true;
    double window_packets_ = 16.0;
    double period_us_ = 1.0;
    double period_at_decrease_us_ = 1.0;
    double arrival_pps_ = 0.0;  // 0 = unknown
    double mtr_pps_ = 0.0;      // 0 = unknown
    Rate newest_pair_;          // zero: no pair since the last estimate
    std::optional<Instant> estimates_time_;
    std::optional<Instant> control_time_;
    std::uint64_t acked_since_control_ = 0;  // packets

    bool loss_since_increase_ = false;
    std::optional<PacketNumber> decrease_point_;  // largest number sent at the last decrease
    int naks_ = 0;
    int decreases_ = 0;
    int average_naks_ = 0;
    int decrease_random_ = 1;
};

}  // namespace udtx::congestion
