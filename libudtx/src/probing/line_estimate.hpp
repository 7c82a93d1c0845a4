// What packet pairs and trains say about the link of a path: meters at both ends, and the estimate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "probing/pair_meter.hpp"
#include "udtx/congestion.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "wire/frame.hpp"

namespace udtx::probing {

// Measures the rate at which packet trains pass. The receiver measures the bottleneck's rate. The sender measures its
// own rate, which bounds what the receiver can see.
//
// A train of k >= kLeastTrainPackets packets gives (t_k - t_1) / (bytes of all but the first). Cross traffic and a
// scheduler that suspends this process only lengthen a train. So the shortest train counts that another one confirms,
// with those that agree with it.
//
// A card that coalesces interrupts delivers packets in bursts, each with one timestamp. The last packet of a burst
// arrived at that time, or at most one packet time before. So the straight line through the ends of bursts is right at
// any granularity. The end of the train cuts its last burst short, so that burst does not count. Two bursts give no
// straight line, only a lower bound of the rate. If burst ends are off a straight line, jitter made the bursts, not a
// card.

class TrainMeter {
  public:
    /// Result of the trains of the last kTrainLife.
    struct Told {
        double time_of_byte = 0.0;  ///< ns; 0 = unknown
        double error = 0.0;         ///< relative error of `time_of_byte`; 1: only an upper bound is known
    };

    /// Packets closer than `min_gap` count as one burst: timestamps do not resolve less.
    explicit TrainMeter(Duration min_gap = Duration(1)) : min_gap_(min_gap) {}

    void on_first(Instant time, bool spoilt = false);
    /// The next packet of the train. `spoilt`: its time cannot be used.
    void on_next(Instant time, std::uint32_t bytes, bool spoilt = false);
    [[nodiscard]] bool under_way() const noexcept { return train_.packets > 0; }
    [[nodiscard]] std::uint32_t packets() const noexcept { return train_.packets; }  ///< of the current train
    void finish();
    [[nodiscard]] Told told(Instant now) const;
    /// Whether a train came within kTrainLife, even one without a result.
    [[nodiscard]] bool recent(Instant now) const { return seen_ && now - seen_at_ <= kTrainLife; }
    /// Time between bursts; kTrainTime if no train has spanned three; zero: each packet has its own timestamp.
    [[nodiscard]] Duration granularity() const noexcept { return granularity_; }

  private:
    /// Totals of the train up to a packet, and the arrival time of that packet.
    struct Mark {
        Instant time;
        std::uint32_t bytes = 0;  // without the first packet of the train
        std::uint32_t packets = 0;
    };
    struct Train {
        Instant first;
        Mark newest;
        std::uint32_t packets = 0;
        std::uint32_t bursts = 0;
        bool spoilt = false;
    };
    struct Pass {
        double time_of_byte = 0.0;  // ns
        double error = 0.0;
    };

    void keep(Instant time, const Pass& pass);
    void take_whole(const Train& train, double error);
    void take_bursts(const Train& train);
    [[nodiscard]] bool straight(std::size_t ends) const;
    void agree();

    Duration min_gap_;
    Train train_;
    std::array<Mark, kMostTrainPackets> ends_{};  // of the bursts of the current train
    std::array<Pass, kTrains> passes_{};          // ring buffer
    std::size_t count_ = 0;
    Told agreed_;
    Instant last_;
    bool seen_ = false;
    Instant seen_at_;
    std::optional<Instant> bent_at_;  // when burst ends were last off a straight line
    Duration granularity_{};
};

// The receiver's half of the meters. It makes the report on the bottleneck link from the arrivals of one path.
//
// A packet with header bit P belongs to the same probe as the packet before it. Two packets are a pair, more are a
// train. Interrupts and schedulers blur one gap but hardly fifteen, so trains give the link rate if they come, else
// pairs do. Packets lost before the queue took no time on the link, so a train is measured by the packets that arrived.
// A pair is void if its numbers are not consecutive or GRO merged it.

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

// The sender's half of the meters. It combines a report of the receiver with the rate at which trains left here.

class LineEstimator {
  public:
    /// Makes the estimate that a controller gets from `report`. `departures` has the trains as they left.
    [[nodiscard]] LineEstimate on_report(Instant now, const wire::RateFeedbackFrame& report,
                                         const TrainMeter& departures);
    /// Estimate of the last report, with the newest pair ever reported; for statistics of the path.
    [[nodiscard]] const LineEstimate& last() const noexcept { return last_; }

  private:
    LineEstimate last_;
};

}  // namespace udtx::probing
