// Measures the rate at which packet trains pass. The receiver measures the bottleneck's rate. The sender measures its
// own rate, which bounds what the receiver can see.
//
// A train of k >= kLeastTrainPackets packets gives (t_k - t_1) / (bytes of all but the first). Cross traffic and a
// scheduler that suspends this process only lengthen a train. So the shortest train counts that another one confirms,
// with those that agree with it.
//
// A card that coalesces interrupts delivers packets in clumps, each with one timestamp. The last packet of a clump
// arrived at that time, or at most one packet time before. So the straight line through the ends of clumps is right at
// any granularity. The end of the train cuts its last clump short, so that clump does not count. Two clumps give no
// straight line, only a lower bound of the rate. If clump ends are off a straight line, jitter made the clumps, not a
// card.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class TrainMeter {
  public:
    /// Result of the trains of the last kTrainLife.
    struct Told {
        double time_of_byte = 0.0;  ///< ns; 0 = unknown
        double error = 0.0;         ///< relative error of `time_of_byte`; 1: only an upper bound is known
    };

    /// Packets closer than `min_gap` count as one clump: timestamps do not resolve less.
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
    /// Time between clumps; kTrainTime if no train has spanned three; zero: each packet has its own timestamp.
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
        std::uint32_t clumps = 0;
        bool spoilt = false;
    };
    struct Pass {
        double time_of_byte = 0.0;  // ns
        double error = 0.0;
    };

    void keep(Instant time, const Pass& pass);
    void take_whole(const Train& train, double error);
    void take_clumps(const Train& train);
    [[nodiscard]] bool straight(std::size_t ends) const;
    void agree();

    Duration min_gap_;
    Train train_;
    std::array<Mark, kMostTrainPackets> ends_{};  // of the clumps of the current train
    std::array<Pass, kTrains> passes_{};          // ring buffer
    std::size_t count_ = 0;
    Told agreed_;
    Instant last_;
    bool seen_ = false;
    Instant seen_at_;
    std::optional<Instant> bent_at_;  // when clump ends were last off a straight line
    Duration granularity_{};
};

}  // namespace udtx::probing
