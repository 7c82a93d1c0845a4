// Receiver's half of the one-way delays: selects the arrival times to report to the sender, which knows the send times.
//
// It reports every kArrivalEvery-th packet, the packets on both sides of a gap in the numbers, and the newest packet at
// the moment of the ACK. The delay beside a gap shows whether the queue was full when the packets between were lost. If
// packets share a time stamp (GRO), it reports the last one, because the others waited for it in the kernel, not in the
// network. If ACKs are far apart and the samples do not fit, every second one is dropped and the spacing doubles.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

class ArrivalSamples {
  public:
    /// Adds a packet with the largest number so far. `after_gap`: the preceding number has not arrived. `spread`: ACKs
    /// are far apart, so the samples should cover all the time between them.
    void on_newest(Instant time, PacketNumber number, bool after_gap, bool spread);
    /// Moves the samples into `frame`, whose largest number arrived at `largest_time`. It moves at most `most` samples,
    /// among them the newest.
    void take(Instant largest_time, std::size_t most, wire::AckFrame& frame);

  private:
    struct Sample {
        Instant time;
        PacketNumber number = 0;
        bool beside_gap = false;
    };
    void keep(const Sample& sample, bool spread);
    void thin_out();

    std::array<Sample, wire::kMaxAckArrivals> kept_{};
    std::size_t count_ = 0;
    PacketNumber every_ = wire::kArrivalEvery;
    std::optional<Sample> newest_;
};

}  // namespace udtx::recovery
