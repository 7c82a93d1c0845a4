// Packet-pair probing, the receiver's half (UDT4 CPktTimeWindow).
//
// Deviations from UDT4, all for links and kernels faster than it knew:
// - Windows start empty instead of filled with 1 s and 1 ms: unknown is said as 0, not as a slow line.
// - An arrival interval spans kMinSpan at least, so that datagrams that share a stamp (GRO) or left in one paced burst
//   do not measure the burst: value = (t - t_previous) / packets in between, each weighted by its packets. Below
//   2,000 packets/s every packet is an interval of its own, as in UDT4.
// - Pair gaps are kept per byte, so that a change of the datagram size does not spoil the window, and are discarded
//   when they say nothing about the line: numbers not consecutive, coalesced, or under 2 us.
// - Beside UDT's capacity a line rate: packets that bear the bit one behind the other are a train (train_meter.hpp).
//   Interrupts and schedulers blur one gap, not fifteen. Packets lost on the way to the queue took no line time: those
//   that came count. Without trains it is the 20th percentile of the pairs' gaps: cross traffic only ever widens a gap
//   at the bottleneck. Only pairs of the last kPairLife count there, since 64 of a slow line are many seconds old.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "recovery/train_meter.hpp"
#include "udtx/congestion.hpp"
#include "udtx/time.hpp"

namespace udtx::recovery {

class PacketPairMonitor {
  public:
    static constexpr std::size_t kArrivals = 16;
    static constexpr std::size_t kPairs = 64;
    static constexpr std::size_t kFewPairs = 8;  ///< the newest, however old
    static constexpr Duration kPairLife = std::chrono::seconds(1);
    static constexpr Duration kMinPairGap = std::chrono::microseconds(2);
    static constexpr Duration kMinSpan = std::chrono::microseconds(500);  // twice the sender's burst

    struct Arrival {
        Instant time;  ///< kernel stamp where there is one
        PacketNumber number = 0;
        std::uint32_t bytes = 0;   ///< UDP payload
        bool pair_second = false;  ///< header bit P
        bool coalesced = false;    ///< came in a GRO batch: its stamp says nothing about the line
    };
    void on_arrival(const Arrival& arrival);
    /// Arrival speed, filtered capacity, and the raw gap of the newest pair once.
    [[nodiscard]] RateFeedback take_feedback();

  private:
    struct Interval {
        double per_packet_ns = 0.0;
        std::uint32_t packets = 0;
    };

    void count_arrival(Instant time);
    void count_train(const Arrival& arrival);
    void keep_pair(double gap);
    [[nodiscard]] double line_ns_per_byte() const;
    void count_pair(const Arrival& second);
    [[nodiscard]] double arrival_pps() const;
    [[nodiscard]] double gap_ns_per_byte() const;
    [[nodiscard]] std::size_t recent_pairs() const;

    std::array<Interval, kArrivals> arrivals_{};  // circles; the counts only grow
    std::size_t arrival_count_ = 0;
    std::array<double, kPairs> pairs_{};  // ns per byte
    std::array<double, kPairs> sorted_pairs_{};
    std::array<Instant, kPairs> pair_times_{};
    std::size_t pair_count_ = 0;

    TrainMeter trains_{kMinPairGap};

    std::optional<Arrival> previous_;
    Instant span_start_;
    std::uint32_t span_packets_ = 0;
    std::size_t too_close_ = 0;  // pairs in a row below kMinPairGap
    Duration newest_gap_{};
    std::uint32_t newest_bytes_ = 0;
};

}  // namespace udtx::recovery
