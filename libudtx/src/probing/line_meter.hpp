// The receiver's half of the meters: from the arrivals of one path, what it reports of the line.
//
// Packets that bear the header's bit P one behind the other are a pair, longer ones a train. Interrupts and schedulers
// blur one gap, not fifteen: where trains come, they tell the line's speed, else the pairs. Packets lost on the way to
// the queue took no line time: those that came count. Pairs that say nothing are discarded: numbers not consecutive, or
// coalesced.
#pragma once

#include <cstdint>
#include <optional>

#include "probing/arrival_speed.hpp"
#include "probing/constants.hpp"
#include "probing/line_pairs.hpp"
#include "probing/pair_meter.hpp"
#include "probing/train_meter.hpp"
#include "udtx/ids.hpp"
#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::probing {

/// Speeds are in packets/s of `pair_bytes`; 0 = unknown.
struct LineReport {
    double arrival_pps = 0.0;
    double capacity_pps = 0.0;     ///< UDT's, of the pairs near their median
    Duration pair_gap{};           ///< of the newest pair, raw; 0 = no new pair since the last report
    std::uint32_t pair_bytes = 0;  ///< UDP payload of the second packet of the pair
    double line_pps = 0.0;         ///< by trains, else by pairs
    double line_error = 0.0;       ///< half the width of what `line_pps` may be, as a part of it; 1: it may be any more
    Duration granularity{};        ///< of arrival times: zero, each packet has a stamp of its own
};

class LineMeter {
  public:
    struct Arrival {
        Instant time;  ///< kernel stamp where there is one
        PacketNumber number = 0;
        std::uint32_t bytes = 0;   ///< UDP payload
        bool pair_second = false;  ///< header bit P
        bool coalesced = false;    ///< came in a GRO batch: its stamp says nothing about the line
    };
    void on_arrival(const Arrival& arrival);
    [[nodiscard]] LineReport take_report();

  private:
    void count_pair(const Arrival& second);
    void count_train(const Arrival& arrival);

    ArrivalSpeed speed_;
    PairMeter pairs_;
    LinePairs line_pairs_;
    TrainMeter trains_{kLeastGap};
    std::optional<Arrival> previous_;
};

/// The report as it goes to the sender; path and time are its acknowledgement's.
[[nodiscard]] wire::RateFeedbackFrame to_frame(const LineReport& report);

}  // namespace udtx::probing
