// Pauses of rivals: a long queue that is gone at once, and soon back.
//
// BBR empties the queue to measure the round trip: Linux's every 10 s (ProbeRTT, draft-cardwell-iccrg-bbr-congestion-
// control-00, section 4.3.5), BBRv3 every 5 s (draft-ietf-ccwg-bbr, section 5.3.4). CUBIC cannot: it
// keeps 0.7 of what is in flight (RFC 9438, section 4.6). Reno, which keeps half, can where the buffer is smaller than
// a bandwidth-delay product. Our own kind can, but drains when we do. Where the buffer overflows now and again a
// shorter queue tells, too, if it was not full: nothing is lost there, and CUBIC reduces only after a loss.
#pragma once

#include <optional>

#include "udtx/time.hpp"

namespace udtx::congestion {

class UdtxPauses {
  public:
    /// Seconds.
    struct Line {
        double queue = 0.0;
        double half_delay = 0.0;
        double base_rtt = 0.0;
        double ack_interval = 0.0;  ///< where ACKs are sparse
        bool drained = false;       ///< by ourselves, now or within the last round trips
        double full = 0.0;  ///< queue of the full buffer, where it overflows now and again and is no shallow one
    };
    void on_feedback(Instant now, const Line& line);
    /// Others have paused more than once lately.
    [[nodiscard]] bool regular(Instant now) const;

  private:
    /// A queue within these bounds, seconds, and how it goes.
    struct Watch {
        void on_feedback(Instant now, const Line& line, double high, double top);
        void on_drained(Instant now, double queue, double high);
        std::optional<Instant> stands_since;
        Instant high_at;                     // there last
        std::optional<Instant> empty_since;  // it stood, and is gone
    };
    void look_for_end(Instant now, const Line& line, Watch& watch, double back);

    Watch long_;
    Watch below_full_;
    std::optional<Instant> last_;  // pause
    std::optional<Instant> before_last_;
};

}  // namespace udtx::congestion
