// The receiver's half of the meters. It makes the report on the bottleneck link from the arrivals of one path.
//
// A packet with header bit P belongs to the same probe as the packet before it. Two packets are a pair, more are a
// train. Interrupts and schedulers blur one gap but hardly fifteen, so trains give the link rate if they come, else
// pairs do. Packets lost before the queue took no time on the link, so a train is measured by the packets that arrived.
// A pair is void if its numbers are not consecutive or GRO merged it.
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

/// Rates are in packets/s of `pair_bytes`; 0 = unknown.
struct LineReport {
    double arrival_pps = 0.0;
    double capacity_pps = 0.0;     ///< UDT's capacity, from the pairs near their median
    Duration pair_gap{};           ///< unfiltered gap of the newest pair; 0 = no new pair since the last report
    std::uint32_t pair_bytes = 0;  ///< UDP payload of the second packet of the pair
    double line_pps = 0.0;         ///< link rate by trains, else by pairs
    double line_error = 0.0;       ///< relative error of `line_pps`; 1: only a lower bound is known
    Duration granularity{};        ///< granularity of arrival times; zero: each packet has its own timestamp
};

class LineMeter {
  public:
    struct Arrival {
        Instant time;  ///< kernel timestamp if there is one
        PacketNumber number = 0;
        std::uint32_t bytes = 0;   ///< UDP payload
        bool pair_second = false;  ///< header bit P
        bool coalesced = false;    ///< part of a GRO batch, so its timestamp cannot measure the link
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

/// The report as sent; path and time are those of the ACK with which it travels.
[[nodiscard]] wire::RateFeedbackFrame to_frame(const LineReport& report);

}  // namespace udtx::probing
