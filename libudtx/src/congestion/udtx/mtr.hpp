// MTR, the capacity of the path: packet pairs and trains, smoothed by congestion degree, checked against delivery.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxMtr {
  public:
    /// Meaning of the rate that trains and pairs measure.
    enum class Told : std::uint8_t {
        line,   ///< it is the link rate
        least,  ///< it is a lower bound: jitter stretches trains and makes bursts
        mean,   ///< it errs in both directions
    };
    /// The link may carry so many times the delivery rate, while trains tell only a lower bound.
    static constexpr double kOpen = 2.0;
    /// `degree`: CD, 0..1.
    void on_feedback(const CongestionFeedback& feedback, double degree, Told what = Told::line);

    [[nodiscard]] bool known() const noexcept { return mtr_ > 0.0; }
    /// Bytes/s, 0 = unknown.
    [[nodiscard]] double mtr() const noexcept { return limit_ ? std::min(mtr_, *limit_) : mtr_; }
    /// Rate that the link is known to carry: mtr(), or less while trains give only a lower bound.
    [[nodiscard]] double seen() const noexcept {
        if (mean_ > 0.0) return std::min(std::max(mean_, mtr_ / kOpen), mtr());
        return open_ ? std::min(std::max(told_, mtr_ / kOpen), mtr()) : mtr();
    }
    /// Trains arrive as fast as they leave, so the link may be faster by any factor.
    [[nodiscard]] bool open() const noexcept { return open_; }
    /// Granularity of the receiver's arrival times.
    [[nodiscard]] Duration granularity() const noexcept { return granularity_; }
    /// mtr() without the limit of a policer.
    [[nodiscard]] double line() const noexcept { return mtr_; }
    /// Highest delivery rate of the last kRecentLife or three round trips, bytes/s.
    [[nodiscard]] double delivered() const noexcept { return delivered_; }
    /// Average delivery over one second or two round trips with the queue; bytes/s.
    [[nodiscard]] double usual() const noexcept { return usual_; }
    /// A policer passes less than the link. mtr() is then at most this rate, which grows slowly.
    void limit(double bytes_per_second) { limit_ = bytes_per_second; }
    void unlimit() { limit_.reset(); }
    /// Sets the MTR to the delivery rate, when no probe measures the link.
    void assume_delivered() { mtr_ = delivered_; }

  private:
    static constexpr Duration kDeliveryLife = std::chrono::seconds(2);
    static constexpr Duration kRecentLife = std::chrono::milliseconds(600);
    static constexpr Duration kLongestLife = std::chrono::seconds(6);

    void deliver(Instant now, const DeliverySample& sample);
    void count(const CongestionFeedback& feedback);
    void smooth(double estimate, double degree);
    [[nodiscard]] static double averaged(double mean, double estimate);

    double mtr_ = 0.0;
    double told_ = 0.0;      // last rate that the receiver reported
    double mean_ = 0.0;      // mean of told_ while jitter makes it a lower bound; else 0
    bool open_ = false;      // told_ is the rate at which trains leave
    double delivery_ = 0.0;  // rate of a round trip, averaged over kDeliveryTime where that is longer
    double delivered_ = 0.0;
    double usual_ = 0.0;
    std::optional<double> limit_;
    Instant updated_;
    Duration granularity_{};
    SlidingExtreme<double, std::greater<>> deliveries_{kDeliveryLife};
    SlidingExtreme<double, std::greater<>> recent_{kLongestLife};
    std::optional<Instant> smoothed_at_;
};

}  // namespace udtx::congestion
