// All numbers of the probes of a line, beside those that a controller knows (udtx/probing.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "udtx/ids.hpp"
#include "udtx/probing.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

// When a probe leaves.
inline constexpr PacketNumber kProbeEvery = 16;                            // packets; UDT4: sequence & 15 == 0
inline constexpr Duration kPairSpacing = std::chrono::milliseconds(1);     // pairs leave outside batches: not too often
inline constexpr Duration kTrainSpacing = std::chrono::milliseconds(200);  // a train is a burst; pairs in between
/// The pacer forgives most of a train: at a cap at which the longest one takes longer than this it would break the cap.
/// Longer than on the line: a cap says nothing of who else waits there.
inline constexpr Duration kTrainTimeAtCap = 2 * kTrainTime;
/// Bytes by which each packet of a probe is larger than the one before: GRO cannot merge them. Less where it is long.
inline constexpr std::size_t kSizeStep = 16;
inline constexpr std::size_t kLongSizeStep = 4;

// Pairs, at the receiver.
inline constexpr std::size_t kPairs = 64;                            // UDT4's window
inline constexpr std::size_t kFewPairs = 8;                          // the newest count for the line, however old,
inline constexpr Duration kPairLife = std::chrono::seconds(1);       // and others for so long
inline constexpr Duration kLeastGap = std::chrono::microseconds(2);  // stamps tell no shorter one
inline constexpr double kBeatRatio = 1.6;    // between gaps that the beat of a card makes of one, at most
inline constexpr double kStampNoise = 1.03;  // between gaps that are the same
inline constexpr double kNearMedian = 8.0;   // UDT4: values within this factor of the median count

// Trains, at both ends.
inline constexpr std::size_t kTrains = 6;                        // the newest
inline constexpr Duration kTrainLife = std::chrono::seconds(2);  // of them, without newer ones
inline constexpr double kTrainsAgree = 1.1;                      // as much as stamps blur a train
inline constexpr double kOffLine = 2.0;     // packets by which the end of a clump is off the line through all, at most
inline constexpr double kAsTheyLeft = 0.8;  // of the speed at which trains leave: they arrive so, but for the blur

// Arrival speed.
inline constexpr std::size_t kIntervals = 16;  // UDT4's window
/// Twice the pacer's burst, so that an interval measures no burst.
inline constexpr Duration kLeastInterval = std::chrono::microseconds(500);

static_assert(kPairSpacing < kTrainSpacing);
static_assert(kTrainSpacing * static_cast<int>(kTrains) < kTrainLife, "those that are to agree live at the same time");
static_assert(kPairPackets < kLeastTrainPackets && kLeastTrainPackets <= kMostTrainPackets);

}  // namespace udtx::probing
