// How fast trains of packets pass: at the receiver the line's speed, at the sender its own, which the line's shows only
// if it is less.
//
// k >= kLeastTrainPackets packets of a train give (t_k - t_1) / (bytes of all but the first). A scheduler that puts us
// aside in the middle and cross traffic only ever lengthen a train, so that the shortest that two agree on counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class TrainMeter {
  public:
    /// Trains with packets closer than `min_gap` on the average do not count: times are not told as finely.
    explicit TrainMeter(Duration min_gap = Duration(1)) : min_gap_(min_gap) {}

    void on_first(Instant time, bool spoilt = false);
    /// The next one of the train. `spoilt`: its time says nothing.
    void on_next(Instant time, std::uint32_t bytes, bool spoilt = false);
    [[nodiscard]] bool under_way() const noexcept { return train_.packets > 0; }
    [[nodiscard]] std::uint32_t packets() const noexcept { return train_.packets; }  ///< of the one under way
    void finish();
    /// ns per byte; 0 = unknown.
    [[nodiscard]] double time_of_byte(Instant now) const;

  private:
    struct Train {
        Instant first;
        Instant last;
        std::uint32_t packets = 0;
        std::uint64_t bytes_after = 0;
        bool spoilt = false;
    };

    Duration min_gap_;
    Train train_;
    std::array<double, kTrains> times_{};  // ns per byte, a circle
    std::size_t count_ = 0;
    double agreed_ = 0.0;
    Instant last_;
};

}  // namespace udtx::probing
