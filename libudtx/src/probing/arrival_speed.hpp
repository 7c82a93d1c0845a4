// Measures at the receiver how many packets arrive a second (UDT4 CPktTimeWindow).
//
// An interval lasts at least kLeastInterval. Otherwise datagrams with one timestamp (GRO) or of one paced burst would
// give the rate of the burst. The value of an interval is (t - t_previous) / packets in between, weighted by its
// packets. Below 2,000 packets/s each packet is an interval, as in UDT4. Unlike in UDT4, the window starts empty: 0
// means unknown.
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

    // An interval ends with the last packet of its timestamp. The next later timestamp shows which packet that was.
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

    std::array<Interval, kIntervals> intervals_{};  // ring buffer; count_ only grows
    std::size_t count_ = 0;
    std::optional<Instant> previous_;
    Instant start_;
    std::uint32_t packets_ = 0;  // of the current interval
};

}  // namespace udtx::probing
