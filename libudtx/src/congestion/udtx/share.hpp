// The share of the line that a flow of udtx aims at, 2^-(q/q_h + p_c/P_h), and how fast it goes there.
//
// Two motions are damped apart. What all flows do together makes the queue, which answers a round trip later: that
// loop bears little gain. A difference between flows makes no queue, and may be settled several times as fast. So the
// share follows the mean queue at the speed of the differences, and the queue's deviation from that mean only at what
// the loop bears.
#pragma once

#include <optional>

#include "udtx/time.hpp"

namespace udtx::congestion {

class UdtxShare {
  public:
    /// q_h on a fast line with a deep buffer, s: the queue that halves the share. `base_rtt`: rb, s.
    [[nodiscard]] static double half_delay(double base_rtt);
    struct Now {
        double dt = 0.0;          ///< s since the last update
        double rtt = 0.0;         ///< s, without a queue (rb)
        double interval = 0.0;    ///< s between ACKs, a SYN at least
        double queue = 0.0;       ///< qf, s
        Duration base{};          ///< one-way delay from which the queue is counted
        double half_delay = 0.0;  ///< q_h, s
        double loss = 0.0;        ///< p_c, 0..1
        bool two_speeds = true;   ///< of differences and of what all do
        std::optional<double>
            full{};  ///< delay of the full queue, s, where losses beside a short queue are but memories
    };
    void update(const Now& now);

    /// Of C: 1 at an empty queue.
    [[nodiscard]] double share() const noexcept { return share_; }
    /// Part of the distance to the share that one loop time takes.
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
