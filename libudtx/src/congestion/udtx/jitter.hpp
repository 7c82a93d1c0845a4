// Jitter that keeps the order of packets: what arrives faster than the line can carry has been held up behind it.
//
// A queue at the bottleneck lets packets go at the line's rate, whoever filled it, so that this is no queue.
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
    /// `line`: rate of the line, bytes/s; `least`: less is of no account, s.
    void on_feedback(const CongestionFeedback& feedback, double line, double least);

    /// How far delays jump without a queue; s, 0 while they do not.
    [[nodiscard]] double size() const noexcept { return size_; }

  private:
    static constexpr std::size_t kSpans = 8;

    [[nodiscard]] double longest_clump(const CongestionFeedback& feedback, double line);
    [[nodiscard]] double packets_between(const CongestionFeedback& feedback, PacketNumber number) const;
    void count(Instant now, double clump);
    [[nodiscard]] double usual_clump() const;

    std::optional<ArrivalSample> previous_;
    std::array<double, kSpans> clumps_{};  // the longest of each span of time, s; a circle
    double clump_ = 0.0;                   // by how much what came lately was early, s
    std::int64_t span_ = 0;
    double size_ = 0.0;
    Instant last_;  // when it was of account
};

/// What jitter adds even to the smallest delay of a while: of very many packets one gets through without any and
/// becomes the base, the others do not.
class JitterNoise {
  public:
    static constexpr double kMost = 15e-3;  ///< s

    struct Path {
        double jitter = 0.0;    ///< s, 0: none
        double base_rtt = 0.0;  ///< s
    };
    /// A delay to judge the queue by: the smallest of a while where there is jitter, else `delay` itself.
    Duration on_delay(Instant now, Duration delay, Duration base, const Path& path);
    /// By how much that is longer than the base without a queue, s.
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
