// Receiver's half of the one-way delays: which arrivals are worth telling the sender, who knows when they left.
//
// Every kArrivalEvery-th packet, the packets on both sides of a gap in the numbers (their delay says whether the queue
// was full when those between were lost), and the newest at the moment of the ACK. Of packets that share a stamp (GRO)
// the last one: the others waited for it in the kernel, not in the network. Where more come between ACKs that
// are far apart than fit, every second one goes and the rest lie twice as far apart.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

class ArrivalSamples {
  public:
    /// A packet with the largest number so far; `after_gap`: the number before it has not come. `spread`: ACKs are far
    /// apart, what is told shall cover all the time between them.
    void on_newest(Instant time, PacketNumber number, bool after_gap, bool spread);
    /// Moves what was collected into `frame`, whose largest number arrived at `largest_time`; at most `most`, the
    /// newest among them.
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
