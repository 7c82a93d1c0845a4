#include "congestion/udt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace udtx::congestion {

double CongestionDegree::add(Instant now, double delay) {
    if (entries_.size() < kValues) {
        entries_.push_back({now, delay});
    } else {
        entries_[next_] = {now, delay};
    }
    next_ = (next_ + 1) % kValues;
    double min = delay;
    double max = delay;
    for (const Entry& entry : entries_) {
        if (now - entry.time > kMaxAge) continue;
        min = std::min(min, entry.delay);
        max = std::max(max, entry.delay);
    }
    value_ = max > min ? (delay - min) / (max - min) : 0.0;
    return value_;
}

Rate CongestionDegreeMtr::update(Rate mtr, const MtrSample& sample) {
    if (sample.raw.is_zero()) return mtr;
    const double degree = degree_.add(sample.now, 1.0 / sample.raw.bps());  // D = 1 / MTR_est
    if (mtr.is_zero()) return sample.raw;
    double weight = 0.125;
    if (sample.raw < mtr) {
        if (degree > beta_) {
            weight = 1.0;
        } else if (degree >= alpha_) {
            weight = 0.875;
        }
    }
    return mtr * (1.0 - weight) + sample.raw * weight;
}

namespace {

constexpr double kSynUs = 10'000.0;
constexpr double kMinIncrease = 0.01;  // packets per SYN
constexpr double kDecrease = 1.125;
constexpr double kMinPeriodUs = 1e-3;
constexpr int kMaxReportsPerEpoch = 5;
constexpr std::uint32_t kIpUdpHeader = 28;  // UDT's MSS counts the IPv4 and UDP headers

double microseconds(Duration d) { return to_seconds(d) * 1e6; }

}  // namespace

Udt::Udt(const CongestionOptions& options, std::unique_ptr<MtrFilter> mtr_filter, UdtForm form)
    : options_(options),
      form_(form),
      datagram_bytes_(std::max(options.datagram_bytes, 1U)),
      random_(options.seed),
      mtr_filter_(std::move(mtr_filter)) {}

void Udt::on_sent(const CongestionSent&) {}

void Udt::on_feedback(const CongestionFeedback& feedback) {
    update_estimates(feedback);
    if (feedback.persistent_timeout) {
        on_exp(feedback);
    } else if (!feedback.lost.empty()) {
        on_loss(feedback);
    }
    acked_since_control_ += feedback.acked_packets;
    if (feedback.acked_packets > 0) on_ack(feedback);
}

void Udt::on_limits(const PathLimits& limits) {
    if (limits.datagram_bytes != datagram_bytes_) set_datagram(limits.datagram_bytes);
    options_.max_rate = limits.max_rate;
    set_period(period_us_);
}

void Udt::set_datagram(std::uint32_t bytes) {
    // Rates and the window stay the same in bytes.
    const double scale = static_cast<double>(bytes) / datagram_bytes_;
    datagram_bytes_ = bytes;
    window_packets_ /= scale;
    arrival_pps_ /= scale;
    mtr_pps_ /= scale;
    period_at_decrease_us_ *= scale;
    set_period(period_us_ * scale);
}

std::uint64_t Udt::window() const {
    const double bytes = window_packets_ * datagram_bytes_;
    const auto limit = static_cast<double>(options_.max_window);
    return static_cast<std::uint64_t>(std::clamp(bytes, 2.0 * datagram_bytes_, std::max(limit, 2.0 * datagram_bytes_)));
}

Rate Udt::pacing_rate() const {
    if (slow_start_) return options_.max_rate;
    return std::min(Rate::bytes_per_second(datagram_bytes_ * 1e6 / period_us_), options_.max_rate);
}

CongestionReport Udt::report() const {
    CongestionReport report;
    report.slow_start = slow_start_;
    report.congestion_degree = mtr_filter_->congestion_degree();
    report.mtr = Rate::bytes_per_second(mtr_pps_ * datagram_bytes_);
    const Rate sending = slow_start_ ? Rate::bytes_per_second(arrival_pps_ * datagram_bytes_) : pacing_rate();
    report.available = sending < report.mtr ? report.mtr - sending : Rate();
    return report;
}

double Udt::increase_per_syn(double bandwidth_pps, std::uint32_t mss, UdtForm form) {
    // The paper scales its 1/1500 by 1500/MSS, like the whole increase.
    const double least = form == UdtForm::printed ? 1.0 / mss : kMinIncrease;
    if (bandwidth_pps <= 0.0) return least;
    const double decade = std::pow(10.0, std::ceil(std::log10(bandwidth_pps * mss * 8.0)));
    return std::max(decade * 1.5e-6 / mss, least);
}

// The receiver reports with every ACK, UDT4's only with the full ACK of each SYN. The weights 7/8 apply per SYN.
void Udt::update_estimates(const CongestionFeedback& feedback) {
    if (!feedback.line) return;
    const LineEstimate& line = *feedback.line;
    if (!line.newest_pair.is_zero()) newest_pair_ = line.newest_pair;
    if (estimates_time_ && feedback.now - *estimates_time_ < kSynInterval) return;
    estimates_time_ = feedback.now;
    if (line.arrival_pps > 0.0)
        arrival_pps_ = arrival_pps_ > 0.0 ? (7.0 * arrival_pps_ + line.arrival_pps) / 8.0 : line.arrival_pps;
    const Rate mtr = Rate::bytes_per_second(mtr_pps_ * datagram_bytes_);
    const MtrSample sample{
        .now = feedback.now, .filtered = line.pair_capacity, .raw = std::exchange(newest_pair_, Rate())};
    mtr_pps_ = mtr_filter_->update(mtr, sample).bytes_per_second() / datagram_bytes_;
}

void Udt::on_ack(const CongestionFeedback& feedback) {
    if (control_time_ && feedback.now - *control_time_ < kSynInterval) return;
    control_time_ = feedback.now;
    const std::uint64_t acked = std::exchange(acked_since_control_, 0);
    if (slow_start_) {
        window_packets_ += static_cast<double>(acked);
        std::uint64_t limit = options_.max_window;
        if (feedback.free_window > 0) limit = std::min(limit, feedback.in_flight_after + feedback.free_window);
        if (window_packets_ * datagram_bytes_ <= static_cast<double>(limit)) return;
        leave_slow_start(feedback);
    } else {
        window_packets_ = arrival_pps_ * (microseconds(feedback.smoothed_rtt) + kSynUs) / 1e6 + 16.0;
    }
    if (std::exchange(loss_since_increase_, false)) return;
    increase();
}

void Udt::leave_slow_start(const CongestionFeedback& feedback) {
    slow_start_ = false;
    // UDT4 writes window / (RTT + SYN) in two places, which is a rate where a period belongs.
    set_period(arrival_pps_ > 0.0 ? 1e6 / arrival_pps_
                                  : (microseconds(feedback.smoothed_rtt) + kSynUs) / window_packets_);
}

void Udt::increase() {
    double bandwidth = mtr_pps_ - 1e6 / period_us_;  // ABW = MTR - rate
    // Below the rate of the last decrease, UDT increases more carefully.
    if (form_ == UdtForm::v4_11 && period_us_ > period_at_decrease_us_) bandwidth = std::min(bandwidth, mtr_pps_ / 9.0);
    const double inc = increase_per_syn(bandwidth, mss(), form_);
    set_period(period_us_ * kSynUs / (period_us_ * inc + kSynUs));
}

void Udt::on_loss(const CongestionFeedback& feedback) {
    if (slow_start_) {
        const bool speed_known = arrival_pps_ > 0.0;
        leave_slow_start(feedback);
        if (speed_known) return;  // the path carries what arrives, so no decrease on top
    }
    loss_since_increase_ = true;
    if (!decrease_point_ || feedback.lost.front().number > *decrease_point_) {
        start_epoch(feedback.largest_sent);
    } else if (form_ == UdtForm::v4_11 && decreases_++ < kMaxReportsPerEpoch && ++naks_ % decrease_random_ == 0) {
        set_period(period_us_ * kDecrease);
        decrease_point_ = feedback.largest_sent;
    }
}

void Udt::start_epoch(PacketNumber largest_sent) {
    period_at_decrease_us_ = period_us_;
    set_period(period_us_ * kDecrease);
    average_naks_ = static_cast<int>(std::ceil(average_naks_ * 0.875 + naks_ * 0.125));
    naks_ = 1;
    decreases_ = 1;
    decrease_point_ = largest_sent;
    // A random number, so that flows that lost packets together do not always decrease together.
    const auto range = static_cast<std::uint64_t>(std::max(average_naks_, 1));
    decrease_random_ = static_cast<int>(random_.next() % range) + 1;
}

// UDT4's timeout outside slow start leaves the rate unchanged.
void Udt::on_exp(const CongestionFeedback& feedback) {
    if (slow_start_) leave_slow_start(feedback);
}

void Udt::set_period(double period_us) {
    // The period stays at or above the cap's. If it fell below the real one, the next decreases would have no effect.
    const double capped = options_.max_rate.is_infinite() || options_.max_rate.is_zero()
                              ? kMinPeriodUs
                              : datagram_bytes_ * 1e6 / options_.max_rate.bytes_per_second();
    period_us_ = std::max({period_us, kMinPeriodUs, capped});
}

std::uint32_t Udt::mss() const noexcept { return datagram_bytes_ + kIpUdpHeader; }

}  // namespace udtx::congestion
