// UDT's native rate control, and the congestion degree of Park, Jang and Cho, which smooths its MTR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "congestion/splitmix.hpp"
#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"

namespace udtx::congestion {

// How the maximum transfer rate (MTR) follows the receiver's packet pairs. UDT and its relatives differ only in this.

/// Input of one SYN interval; bytes are UDP payload.
struct MtrSample {
    Instant now;
    Rate filtered{};  ///< the receiver's median-filtered capacity, zero: unknown
    Rate raw{};       ///< from the newest pair alone, zero: no new pair
};

class MtrFilter {
  public:
    virtual ~MtrFilter() = default;
    /// The MTR after this SYN; `mtr` is zero while unknown.
    [[nodiscard]] virtual Rate update(Rate mtr, const MtrSample& sample) = 0;
    [[nodiscard]] virtual double congestion_degree() const { return 0.0; }
};

/// UDT: MTR = 7/8 MTR + 1/8 estimate. The estimate is the filtered capacity, or that of the newest pair alone (`raw`).
class UdtMtr final : public MtrFilter {
  public:
    explicit UdtMtr(bool raw = false) : raw_(raw) {}
    [[nodiscard]] Rate update(Rate mtr, const MtrSample& sample) override {
        const Rate estimate = raw_ ? sample.raw : sample.filtered;
        if (estimate.is_zero()) return mtr;
        return mtr.is_zero() ? estimate : mtr * 0.875 + estimate * 0.125;
    }

  private:
    bool raw_;
};

// Congestion degree and the MTR that follows it: J. Park, H. Jang, G. Cho, "Congestion Degree Based Available Bandwidth
// Estimation Method for Enhancement of UDT Fairness" (2015), algorithms 1 and 2. Controller `cd` is UDT with this
// filter.

/// CD = (D - D_min) / (D_max - D_min) of the newest pair delay D over the last kValues values (eq. 7).
class CongestionDegree {
  public:
    static constexpr std::size_t kValues = 500;
    /// 500 ACKs of one SYN each. Slow flows get pairs less often, and without this limit a value would count for
    /// minutes.
    static constexpr Duration kMaxAge = kValues * kSynInterval;

    /// Adds a pair delay, per packet or per byte; all values must use the same unit.
    double add(Instant now, double delay);
    [[nodiscard]] double value() const noexcept { return value_; }

  private:
    struct Entry {
        Instant time;
        double delay = 0.0;
    };
    std::vector<Entry> entries_;  // ring buffer of at most kValues
    std::size_t next_ = 0;
    double value_ = 0.0;
};

/// If the estimate is below the MTR, CD selects one of three weights, else UDT's own weight applies (algorithm 2).
class CongestionDegreeMtr final : public MtrFilter {
  public:
    CongestionDegreeMtr(double alpha, double beta) : alpha_(alpha), beta_(beta) {}
    [[nodiscard]] Rate update(Rate mtr, const MtrSample& sample) override;
    [[nodiscard]] double congestion_degree() const override { return degree_.value(); }

  private:
    double alpha_;
    double beta_;
    CongestionDegree degree_;
};

// Native UDT rate control (Gu & Grossman 2007; UDT 4.11 CUDTCC).
//
// Units are UDT's: the sending period P in microseconds per packet, speeds in packets/s, the window in packets of the
// current datagram size. docs/lab/controllers.md lists the equations and every deviation from UDT 4.11.

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
