// Jitter that keeps the order of packets: packets that arrive faster than C were held up after the bottleneck.
//
// A queue at the bottleneck releases packets at the link's rate, for every flow. So faster arrivals are not its queue.
// docs/inside/congestion.md, `udtx`, Jitter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/sliding_extreme.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxJitter {
  public:
    /// `line`: rate of the link, bytes/s; `least`: smaller jitter does not count, s.
    void on_feedback(const CongestionFeedback& feedback, double line, double least);

    /// Size of the jumps of delay without a queue (j); s, 0: no jitter.
    [[nodiscard]] double size() const noexcept { return size_; }

  private:
    static constexpr std::size_t kSpans = 8;

    [[nodiscard]] double longest_clump(const CongestionFeedback& feedback, double line);
    [[nodiscard]] double packets_between(const CongestionFeedback& feedback, PacketNumber number) const;
    void count(Instant now, double clump);
    [[nodiscard]] double usual_clump() const;

    std::optional<ArrivalSample> previous_;
    std::array<double, kSpans> clumps_{};  // longest of each span of time, s; ring buffer
    double clump_ = 0.0;                   // time by which recent packets were early (b), s
    std::int64_t span_ = 0;
    double size_ = 0.0;
    Instant last_;  // when jitter last exceeded `least`
};

/// Delay that jitter adds even to the smallest delay of a while (J). One of very many packets passes without jitter and
/// becomes the base, while most do not.
class JitterNoise {
  public:
    static constexpr double kMost = 15e-3;  ///< s

    struct Path {
        double jitter = 0.0;    ///< s, 0: no jitter
        double base_rtt = 0.0;  ///< s
    };
    /// Delay by which to judge the queue: with jitter the smallest of a while, else `delay` itself.
    Duration on_delay(Instant now, Duration delay, Duration base, const Path& path);
    /// Time by which that delay exceeds the base without a queue (J), s.
    [[nodiscard]] double height() const noexcept { return height_; }
    [[nodiscard]] bool active() const noexcept { return newest_.has_value(); }
    void clear();

  private:
    using Lowest = SlidingExtreme<Duration, std::less<>>;
    static constexpr Duration kCalmLife = std::chrono::seconds(4);

    std::optional<Lowest> newest_;
    Lowest calms_{kCalmLife};
    double height_ = 0.0;
};

}  // namespace udtx::congestion
