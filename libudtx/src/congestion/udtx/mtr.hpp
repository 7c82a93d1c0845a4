// MTR, the capacity of the path: packet pairs and trains, smoothed by congestion degree, checked against delivery.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/sliding_extreme.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxMtr {
  public:
    /// What trains and pairs tell.
    enum class Told : std::uint8_t {
        line,   ///< the line
        least,  ///< that it is no slower: jitter stretches and clumps them
        mean,   ///< as often too much as too little
    };
    /// `degree`: CD, 0..1.
    void on_feedback(const CongestionFeedback& feedback, double degree, Told what = Told::line);

    [[nodiscard]] bool known() const noexcept { return mtr_ > 0.0; }
    /// Bytes/s, 0 = unknown.
    [[nodiscard]] double mtr() const noexcept { return limit_ ? std::min(mtr_, *limit_) : mtr_; }
    /// Where no train tells how much more the line carries, what it is known to carry.
    [[nodiscard]] double seen() const noexcept {
        if (mean_ > 0.0) return std::min(std::max(mean_, mtr_ / kOpen), mtr());
        return open_ ? std::min(std::max(told_, mtr_ / kOpen), mtr()) : mtr();
    }
    /// Trains arrive as fast as they leave: the line may be any faster.
    [[nodiscard]] bool open() const noexcept { return open_; }
    /// Of the receiver's arrival times.
    [[nodiscard]] Duration granularity() const noexcept { return granularity_; }
    /// mtr(), whatever somebody lets pass of it.
    [[nodiscard]] double line() const noexcept { return mtr_; }
    /// Highest delivery rate of the last kRecentLife or three round trips, bytes/s.
    [[nodiscard]] double delivered() const noexcept { return delivered_; }
    /// What was delivered on average, of a second or two round trips with the queue; bytes/s.
    [[nodiscard]] double usual() const noexcept { return usual_; }
    /// The line is faster than what somebody lets pass (a policer): no more than this, and slowly more.
    void limit(double bytes_per_second) { limit_ = bytes_per_second; }
    void unlimit() { limit_.reset(); }
    /// Nothing else tells of the line.
    void assume_delivered() { mtr_ = delivered_; }

  private:
    static constexpr double kOpen = 2.0;  // of what was delivered: there may be so much and more
    static constexpr Duration kDeliveryLife = std::chrono::seconds(2);
    static constexpr Duration kRecentLife = std::chrono::milliseconds(600);
    static constexpr Duration kLongestLife = std::chrono::seconds(6);

    void deliver(Instant now, const DeliverySample& sample);
    void count(const CongestionFeedback& feedback);
    void smooth(double estimate, double degree);
    [[nodiscard]] static double averaged(double mean, double estimate);

    double mtr_ = 0.0;
    double told_ = 0.0;      // by the receiver, last
    double mean_ = 0.0;      // of that, where it tells the least only
    bool open_ = false;      // and that was no more than the speed at which trains leave
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
