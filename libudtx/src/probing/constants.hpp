// All numbers of the probes, except those that controllers use, too (udtx/probing.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "udtx/ids.hpp"
#include "udtx/probing.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

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
inline constexpr double kOffLine = 2.0;     // packets by which a clump's end may be off the straight line
inline constexpr double kAsTheyLeft = 0.8;  // of the rate at which trains leave; from here on they arrive as they left

// Arrival speed.
inline constexpr std::size_t kIntervals = 16;  // UDT4's window
/// Twice the pacer's burst, so that no interval measures only a burst.
inline constexpr Duration kLeastInterval = std::chrono::microseconds(500);

static_assert(kPairSpacing < kTrainSpacing);
static_assert(kTrainSpacing * static_cast<int>(kTrains) < kTrainLife, "those that are to agree live at the same time");
static_assert(kPairPackets < kLeastTrainPackets && kLeastTrainPackets <= kMostTrainPackets);

}  // namespace udtx::probing
