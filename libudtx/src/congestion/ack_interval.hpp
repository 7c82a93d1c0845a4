// How far apart acknowledgements come: a narrow way back lets few through (docs/inside/acknowledgements.md).
#pragma once

#include <algorithm>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Of what each one acknowledged, the time that it took to send: unlike the pauses between acknowledgements it is
/// short where the sender has nothing to send or waits for its window, and where jitter on the way back bunches them.
class AckInterval {
  public:
    void on_feedback(const CongestionFeedback& feedback) {
        // Less one packet's share, so that it counts less where an ACK stands for few: their pauses are the sender's.
        const auto packets = static_cast<std::int64_t>(feedback.acked_packets);
        if (packets > 0) add(feedback.acked_span - feedback.acked_span / packets);
    }
    void add(Duration span) { mean_ += (std::min(to_seconds(span), kMost) - mean_) / 8.0; }
    /// s
    [[nodiscard]] double mean() const noexcept { return mean_; }
    /// They come less often than the usual receiver's.
    [[nodiscard]] bool sparse() const noexcept { return mean_ > kSparse * to_seconds(kSynInterval); }

  private:
    static constexpr double kMost = 0.5;
    static constexpr double kSparse = 1.25;

    double mean_ = 0.0;
};

}  // namespace udtx::congestion
