// Receiver's half of the one-way delays: which arrivals are worth telling the sender, who knows when they left.
//
// Every kEvery-th packet, the packets on both sides of a gap in the numbers (their delay says whether the queue was
// full when those between were lost), and the newest at the moment of the ACK. Of packets that share a stamp (GRO)
// the last one: the others waited for it in the kernel, not in the network.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::recovery {

class ArrivalSamples {
  public:
    static constexpr PacketNumber kEvery = 8;

    /// A packet with the largest number so far; `after_gap`: the number before it has not come.
    void on_newest(Instant time, PacketNumber number, bool after_gap);
    /// Moves what was collected into `frame`, whose largest number arrived at `largest_time`.
    void take(Instant largest_time, wire::AckFrame& frame);

  private:
    struct Sample {
        Instant time;
        PacketNumber number = 0;
        bool beside_gap = false;
    };
    void keep(const Sample& sample);

    std::array<Sample, wire::kMaxAckArrivals> kept_{};
    std::size_t count_ = 0;
    std::optional<Sample> newest_;
};

}  // namespace udtx::recovery
