// Round-trip time of a path (RFC 9002, section 5; weights 1/8 and 1/4 are UDT's too).
#pragma once

#include "udtx/time.hpp"

namespace udtx::recovery {

/// Shortest time that a timer of recovery waits (kGranularity of RFC 9002, section 6.1.2).
inline constexpr Duration kGranularity = std::chrono::milliseconds(1);

class RttEstimator {
  public:
    static constexpr Duration kInitial = std::chrono::milliseconds(200);

    /// `sample` is raw. `ack_delay` is subtracted unless the result would be below the minimum.
    void add(Duration sample, Duration ack_delay);
    void reset();

    [[nodiscard]] bool has_sample() const noexcept { return has_sample_; }
    [[nodiscard]] Duration smoothed() const noexcept { return smoothed_; }  ///< kInitial before the first sample
    [[nodiscard]] Duration variance() const noexcept { return variance_; }
    [[nodiscard]] Duration minimum() const noexcept { return minimum_; }
    [[nodiscard]] Duration latest() const noexcept { return latest_; }  ///< ack delay removed
    /// srtt + max(4 var, 1 ms); the caller adds the peer's ACK delay (RFC 9002, section 6.2.1).
    [[nodiscard]] Duration probe_timeout() const noexcept;

  private:
    Duration smoothed_ = kInitial;
    Duration variance_ = kInitial / 2;
    Duration minimum_{};
    Duration latest_{};
    bool has_sample_ = false;
};

}  // namespace udtx::recovery
