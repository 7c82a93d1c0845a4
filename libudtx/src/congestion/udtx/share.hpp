// The share of the link at which a flow of udtx aims, 2^-(q/q_h + p_c/P_h), and how fast it moves there.
//
// Two changes are damped separately. A change of all flows moves the queue an RTT later, and that loop allows little
// gain. A difference between flows moves no queue, so it may settle several times as fast. So the share follows the
// mean queue at the high gain, and the queue's deviation from that mean at the low gain.
#pragma once

#include <optional>

#include "udtx/time.hpp"

namespace udtx::congestion {

class UdtxShare {
  public:
    /// q_h on a fast link with a deep buffer, s: the queue that halves the share. `base_rtt`: rb, s.
    [[nodiscard]] static double half_delay(double base_rtt);
    struct Now {
        double dt = 0.0;               ///< s since the last update
        double rtt = 0.0;              ///< s, without a queue (rb)
        double interval = 0.0;         ///< s between ACKs, at least a SYN
        double queue = 0.0;            ///< qf, s
        Duration base{};               ///< one-way delay above which the queue is measured
        double half_delay = 0.0;       ///< q_h, s
        double loss = 0.0;             ///< p_c, 0..1
        bool two_speeds = true;        ///< higher gain for differences between flows
        std::optional<double> full{};  ///< delay of the full queue, s; if set, loss fades out at a short queue
    };
    void update(const Now& now);

    /// Part of C: 1 at an empty queue.
    [[nodiscard]] double share() const noexcept { return share_; }
    /// Part of the distance to the share that is covered in one loop time.
    [[nodiscard]] double beta() const noexcept { return beta_; }
    /// qm, the mean of qf; seconds.
    [[nodiscard]] double mean_queue() const noexcept { return mean_.value_or(0.0); }

  private:
    void follow(const Now& now);

    double share_ = 1.0;
    double beta_ = 0.0;
    std::optional<double> mean_;  // of qf, s
    Duration base_{};
};

}  // namespace udtx::congestion
