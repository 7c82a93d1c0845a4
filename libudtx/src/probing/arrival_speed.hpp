// How many packets arrive a second (UDT4 CPktTimeWindow), at the receiver.
//
// An interval spans kLeastInterval at least, so that datagrams that share a stamp (GRO) or left in one paced burst do
// not measure the burst: value = (t - t_previous) / packets in between, each weighted by its packets. Below 2,000
// packets/s every packet is an interval of its own, as in UDT4. Unlike UDT4's the window starts empty: unknown is said
// as 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class ArrivalSpeed {
  public:
    void on_arrival(Instant time) {
        if (previous_) {
            count(time);
        } else {
            start_ = time;
        }
        previous_ = time;
    }
    /// 0 = unknown.
    [[nodiscard]] double packets_per_second() const;

  private:
    struct Interval {
        double per_packet_ns = 0.0;
        std::uint32_t packets = 0;
    };

    // An interval ends with the last packet of its stamp, which is known when a later stamp comes.
    void count(Instant time) {
        const Duration span = *previous_ - start_;
        if (time > *previous_ && packets_ > 0 && span >= kLeastInterval) {
            intervals_[count_ % kIntervals] = {static_cast<double>(span.count()) / packets_, packets_};
            ++count_;
            start_ = *previous_;
            packets_ = 0;
        }
        ++packets_;
    }

    std::array<Interval, kIntervals> intervals_{};  // a circle; the count only grows
    std::size_t count_ = 0;
    std::optional<Instant> previous_;
    Instant start_;
    std::uint32_t packets_ = 0;  // of the interval under way
};

}  // namespace udtx::probing
