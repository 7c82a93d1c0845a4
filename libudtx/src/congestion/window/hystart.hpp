// HyStart++ (RFC 9406): slow start that ends when the round-trip time grows, before the queue is full.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

class HyStart {
  public:
    static constexpr Duration kMinThreshold = std::chrono::milliseconds(4);
    static constexpr Duration kMaxThreshold = std::chrono::milliseconds(16);
    static constexpr int kThresholdDivisor = 8;
    static constexpr std::uint32_t kSamples = 8;
    static constexpr double kConservativeDivisor = 4.0;
    static constexpr int kConservativeRounds = 5;

    enum class Verdict : std::uint8_t { slow_start, conservative, done };

    /// Call it for each feedback in slow start, with the packets that it acknowledged.
    [[nodiscard]] Verdict on_ack(const CongestionFeedback& feedback);
    void restart() { *this = HyStart(); }

  private:
    void end_round(const CongestionFeedback& feedback);
    void judge();

    std::optional<PacketNumber> window_end_;  // the round ends when this packet is acknowledged
    std::uint32_t samples_ = 0;
    std::optional<Duration> last_round_;  // smallest RTT of the round before
    std::optional<Duration> this_round_;
    std::optional<Duration> baseline_;  // smallest RTT when conservative slow start began; set = in it
    int rounds_ = 0;                    // of conservative slow start
};

}  // namespace udtx::congestion
