// Numbers of the probes, and meters of packet pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::probing {

// All numbers of the probes, except those that controllers use, too (udtx/congestion.hpp).

// When a probe leaves.
inline constexpr PacketNumber kProbeEvery = 16;                         // packets; UDT4: sequence & 15 == 0
inline constexpr Duration kPairSpacing = std::chrono::milliseconds(1);  // pairs leave outside batches, so they are rare
inline constexpr Duration kTrainSpacing = std::chrono::milliseconds(200);  // a train is a burst; pairs leave in between
/// Longest time of a train at the user's cap. The pacer charges only a small part of a train, so a longer train would
/// break the cap. It exceeds kTrainTime because a cap does not mean that other flows wait behind the train.
inline constexpr Duration kTrainTimeAtCap = 2 * kTrainTime;
/// Bytes by which each packet of a probe is larger than the one before, so that GRO cannot merge them. Long trains use
/// kLongSizeStep.
inline constexpr std::size_t kSizeStep = 16;
inline constexpr std::size_t kLongSizeStep = 4;

// Pairs, at the receiver.
inline constexpr std::size_t kPairs = 64;    // UDT4's window
inline constexpr std::size_t kFewPairs = 8;  // the newest so many pairs count for the link at any age
inline constexpr Duration kPairLife = std::chrono::seconds(1);       // older pairs count for so long
inline constexpr Duration kLeastGap = std::chrono::microseconds(2);  // timestamps cannot resolve a shorter gap
inline constexpr double kBeatRatio = 1.6;    // greatest ratio of two gaps that the beat of a card makes of one
inline constexpr double kStampNoise = 1.03;  // greatest ratio of two equal gaps
inline constexpr double kNearMedian = 8.0;   // UDT4: values within this factor of the median count

// Trains, at both ends.
inline constexpr std::size_t kTrains = 6;                        // the newest ones count
inline constexpr Duration kTrainLife = std::chrono::seconds(2);  // the result expires without newer trains
inline constexpr double kTrainsAgree = 1.1;                      // timestamps blur a train by up to this factor
inline constexpr double kOffLine = 2.0;     // packets by which a burst's end may be off the straight line
inline constexpr double kAsTheyLeft = 0.8;  // of the rate at which trains leave; from here on they arrive as they left

// Arrival speed.
inline constexpr std::size_t kIntervals = 16;  // UDT4's window
/// Twice the pacer's burst, so that no interval measures only a burst.
inline constexpr Duration kLeastInterval = std::chrono::microseconds(500);

static_assert(kPairSpacing < kTrainSpacing);
static_assert(kTrainSpacing * static_cast<int>(kTrains) < kTrainLife, "those that are to agree live at the same time");
static_assert(kPairPackets < kLeastTrainPackets && kLeastTrainPackets <= kMostTrainPackets);

// UDT4's filter for a window of samples: only those near the median count.

/// Both bounds are strict, as in UDT4.
[[nodiscard]] constexpr bool near_median(double value, double median) noexcept {
    return value > median / kNearMedian && value < median * kNearMedian;
}

// UDT's capacity by the gaps of packet pairs, at the receiver (UDT4 CPktTimeWindow).
//
// Deviations from UDT4, all for links and kernels faster than it knew:
// - The window starts empty, not filled with 1 ms. So 0 means unknown.
// - Gaps are kept per byte, so that the datagram size may change.
// - Gaps below kLeastGap are discarded, as most come from two packets of one interrupt. If only such gaps come, the
//   path is faster than timestamps resolve. Then kLeastGap counts as the gap, which is a lower bound of the rate.

class PairMeter {
  public:
    /// The second packet of a pair, of `bytes`, arrived `gap` after the first.
    void on_pair(Duration gap, std::uint32_t bytes);
    /// ns per byte by the whole window, filtered as in UDT; 0 = unknown.
    [[nodiscard]] double filtered_time_of_byte() const;
    /// Unfiltered gap of the newest pair; zero after it was taken.
    [[nodiscard]] Duration take_newest_gap();
    /// Bytes of the second packet of the newest pair; 0: no pair yet.
    [[nodiscard]] std::uint32_t newest_bytes() const noexcept { return newest_bytes_; }

  private:
    void keep(double gap);
    [[nodiscard]] std::size_t known() const noexcept { return count_ < kPairs ? count_ : kPairs; }

    std::array<double, kPairs> gaps_{};  // ns per byte; ring buffer, count_ only grows
    std::array<double, kPairs> sorted_{};
    std::size_t count_ = 0;
    std::size_t too_close_ = 0;  // pairs in a row below kLeastGap
    Duration newest_gap_{};
    std::uint32_t newest_bytes_ = 0;
};

// Measures at the receiver how many packets arrive a second (UDT4 CPktTimeWindow).
//
// An interval lasts at least kLeastInterval. Otherwise datagrams with one timestamp (GRO) or of one paced burst would
// give the rate of the burst. The value of an interval is (t - t_previous) / packets in between, weighted by its
// packets. Below 2,000 packets/s each packet is an interval, as in UDT4. Unlike in UDT4, the window starts empty: 0
// means unknown.

class ArrivalSpeed {
  public:
    void on_arrival(Instant time) {
        if (previous_) {
            count(time);
        } else {
            start_ = time;
        }
        previous_ = time;
    }
    /// 0 = unknown.
    [[nodiscard]] double packets_per_second() const;

  private:
    struct Interval {
        double per_packet_ns = 0.0;
        std::uint32_t packets = 0;
    };

    // An interval ends with the last packet of its timestamp. The next later timestamp shows which packet that was.
    void count(Instant time) {
        const Duration span = *previous_ - start_;
        if (time > *previous_ && packets_ > 0 && span >= kLeastInterval) {
            intervals_[count_ % kIntervals] = {static_cast<double>(span.count()) / packets_, packets_};
            ++count_;
            start_ = *previous_;
            packets_ = 0;
        }
        ++packets_;
    }

    std::array<Interval, kIntervals> intervals_{};  // ring buffer; count_ only grows
    std::size_t count_ = 0;
    std::optional<Instant> previous_;
    Instant start_;
    std::uint32_t packets_ = 0;  // of the current interval
};

// Measures a link too slow for trains by the gaps of packet pairs.
//
// Cross traffic only widens a gap at the bottleneck, so the 20th percentile of the gaps of the last kPairLife is the
// link's. A card that coalesces interrupts rounds each gap to a multiple of its period, up as often as down. The gap is
// zero if both packets waited for one interrupt. Then the mean of the gaps near that percentile is right, zeros
// included. If no two packets share an interrupt, the granularity is unknown. Two gap values, one beat apart, still
// reveal the card, as long as the beat is at most half of the gap.

class LinePairs {
  public:
    /// The second packet of a pair, of `bytes`, arrived at `time`, `gap` after the first.
    void on_pair(Instant time, Duration gap, std::uint32_t bytes);
    /// ns per byte, as seen at `now`; 0 = unknown. `granularity` is that of the timestamps.
    [[nodiscard]] double time_of_byte(Instant now, Duration granularity) const;

  private:
    struct Gap {
        Instant time;
        Duration length{};
        std::uint32_t bytes = 0;
    };

    std::array<Gap, kPairs> gaps_{};  // ring buffer; count_ only grows
    std::size_t count_ = 0;
};

}  // namespace udtx::probing
