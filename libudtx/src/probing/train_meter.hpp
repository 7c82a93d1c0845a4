// How fast trains of packets pass: at the receiver the line's speed, at the sender its own, which the line's shows only
// if it is less.
//
// k >= kLeastTrainPackets packets of a train give (t_k - t_1) / (bytes of all but the first). A scheduler that puts us
// aside in the middle and cross traffic only ever lengthen a train, so that the shortest counts that another one
// confirms, and those that agree with it.
//
// A card that coalesces interrupts hands packets over in clumps, each with one stamp. The last packet of a clump came
// at its stamp or at most one packet's time before. So the line through the ends of clumps is right, however coarse the
// stamps are. The train's own end closes its last clump too early: it does not count. Trains of two clumps have no such
// line: they only tell that the line is no slower. Clumps that do not lie on a line are no card's, but jitter's.
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
    /// What trains of the last kTrainLife tell.
    struct Told {
        double time_of_byte = 0.0;  ///< ns; 0 = unknown
        double error = 0.0;         ///< half the width of what it may be, as a part of it; 1: it may be any less
    };

    /// Packets closer than `min_gap` share a stamp: times are not told as finely.
    explicit TrainMeter(Duration min_gap = Duration(1)) : min_gap_(min_gap) {}

    void on_first(Instant time, bool spoilt = false);
    /// The next one of the train. `spoilt`: its time says nothing.
    void on_next(Instant time, std::uint32_t bytes, bool spoilt = false);
    [[nodiscard]] bool under_way() const noexcept { return train_.packets > 0; }
    [[nodiscard]] std::uint32_t packets() const noexcept { return train_.packets; }  ///< of the one under way
    void finish();
    [[nodiscard]] Told told(Instant now) const;
    /// Trains came lately, whether or not they tell anything.
    [[nodiscard]] bool recent(Instant now) const { return seen_ && now - seen_at_ <= kTrainLife; }
    /// Time between clumps, kTrainTime where no train has spanned three; zero: each packet has a stamp of its own.
    [[nodiscard]] Duration granularity() const noexcept { return granularity_; }

  private:
    /// Up to this packet, which came at this time.
    struct Mark {
        Instant time;
        std::uint32_t bytes = 0;  // of the train but its first packet
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
    std::array<Mark, kMostTrainPackets> ends_{};  // of its clumps
    std::array<Pass, kTrains> passes_{};          // a circle
    std::size_t count_ = 0;
    Told agreed_;
    Instant last_;
    bool seen_ = false;
    Instant seen_at_;
    std::optional<Instant> bent_at_;  // clumps lay on no line
    Duration granularity_{};
};

}  // namespace udtx::probing
