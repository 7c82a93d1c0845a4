// Probes of a path's line, and what they tell: pairs of packets that leave back to back, and longer trains.
//
// A packet takes a line as long as its bytes do, so that two that meet there arrive as far apart (packet pairs: Gu and
// Grossman, UDT, 2007). The receiver measures and reports with its acknowledgements; the transport makes a LineEstimate
// of each report. Speeds are of UDP payload.
#pragma once

#include <algorithm>
#include <cstdint>

#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx {

inline constexpr std::uint32_t kPairPackets = 2;
inline constexpr std::uint32_t kLeastTrainPackets = 8;  ///< stamps blur shorter ones: they count as a pair
inline constexpr std::uint32_t kMostTrainPackets = 16;
/// A train takes the line for no longer: it is a burst, which others wait for.
inline constexpr Duration kTrainTime = std::chrono::milliseconds(1);

/// Packets of a probe of a line on which one lasts `packet_time` (s; 0: unknown): the longest train that takes no
/// longer than kTrainTime, else a pair.
[[nodiscard]] constexpr std::uint32_t fitting_probe(double packet_time) noexcept {
    if (packet_time <= 0.0) return kMostTrainPackets;
    const double fit = to_seconds(kTrainTime) / packet_time;
    if (fit < kLeastTrainPackets) return kPairPackets;
    return static_cast<std::uint32_t>(std::min(fit, double{kMostTrainPackets}));
}

/// What the capacity of a LineEstimate rests on.
enum class LineEvidence : std::uint8_t {
    none,
    pairs,   ///< a pair tells of one interrupt: the 20th percentile of many
    trains,  ///< trains left lately, of which the receiver takes the shortest that two agree on
};

/// What is known of a path's line, with one report of its receiver.
struct LineEstimate {
    Rate capacity{};  ///< zero: unknown
    LineEvidence evidence = LineEvidence::none;
    bool only_least = false;   ///< trains arrive as fast as they leave: the line is only known to be no slower
    Duration age{};            ///< since a report first told of the newest pair
    Rate pair_capacity{};      ///< UDT's: mean of the pairs near their median; zero: unknown
    Rate newest_pair{};        ///< of that pair alone; zero: none since the last report
    double arrival_pps = 0.0;  ///< packets/s at which this sender's arrive, 0 = unknown
};

}  // namespace udtx
