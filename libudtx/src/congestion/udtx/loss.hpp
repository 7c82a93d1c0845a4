// Tells random loss from congestion loss by the delay at which packets are lost.
//
// Random loss is the same at any queue length. A drop-tail queue drops when it is full, so the neighbours of its lost
// packets have the longest delays. Packets are counted in two classes, with and without a long queue around them. The
// loss ratio of the class without is the random loss p_rand. What the other class loses beyond that, less two standard
// deviations, is congestion.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"
#include "udtx/time.hpp"

namespace udtx::congestion {

class UdtxDelay;

class UdtxLoss {
  public:
    /// Counts of one ACK: packets (arrived or lost) with (`high`) and without (`low`) a long queue around them.
    struct Counts {
        double high = 0.0;
        double high_lost = 0.0;
        double low = 0.0;
        double low_lost = 0.0;
    };
    /// `long_queue`: shortest delay that counts as a long queue, s.
    [[nodiscard]] static Counts count(const CongestionFeedback& feedback, const UdtxDelay& delay, double long_queue);
    void on_feedback(Instant now, const Counts& counts, double rtt);

    [[nodiscard]] double random() const noexcept { return random_; }          ///< p_rand, 0..1
    [[nodiscard]] double congestion() const noexcept { return congestion_; }  ///< p_c, 0..1
    [[nodiscard]] double total() const noexcept;                              ///< loss ratio of all recent packets
    /// Loss at short delays was congestion, except for this part.
    void assume_random(double random);
    /// Forgets earlier losses, which were judged by another rule.
    void restart() { seen_ = {}; }

  private:
    Counts seen_;
    double random_ = 0.0;
    double congestion_ = 0.0;
    std::optional<Instant> updated_;
};

}  // namespace udtx::congestion
