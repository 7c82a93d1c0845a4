// MTR, the capacity of the path: packet pairs and trains, smoothed by congestion degree, checked against delivery.
#pragma once

#include <functional>
#include <optional>

#include "congestion/sliding_extreme.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxMtr {
  public:
    /// `degree`: CD, 0..1. `delay`: base RTT and queue, over which deliveries are looked at, seconds.
    void on_feedback(const CongestionFeedback& feedback, double degree);

    [[nodiscard]] bool known() const noexcept { return mtr_ > 0.0; }
    [[nodiscard]] double mtr() const noexcept { return mtr_; }              ///< bytes/s, 0 = unknown
    [[nodiscard]] double delivered() const noexcept { return delivered_; }  ///< highest of the last 1 s, bytes/s
    /// Packets are being delivered faster than MTR: the pairs were wrong.
    void raise_to(double bytes_per_second) { mtr_ = std::max(mtr_, bytes_per_second); }

  private:
    static constexpr Duration kDeliveryLife = std::chrono::seconds(2);
    static constexpr Duration kRecentLife = std::chrono::milliseconds(600);

    void smooth(double estimate, double degree);

    double mtr_ = 0.0;
    double delivered_ = 0.0;
    SlidingExtreme<double, std::greater<>> deliveries_{kDeliveryLife};
    SlidingExtreme<double, std::greater<>> recent_{kRecentLife};
    std::optional<Instant> smoothed_at_;
};

}  // namespace udtx::congestion
