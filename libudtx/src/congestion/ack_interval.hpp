// Mean interval that an ACK covers. It is long if a narrow return path lets few ACKs through
// (docs/inside/acknowledgements.md).
#pragma once

#include <algorithm>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Averages the time in which the packets of one ACK were sent. Unlike the time between ACKs, it stays short while the
/// sender has no data or waits for its window. Jitter on the return path, which bunches ACKs, does not change it.
class AckInterval {
  public:
    void on_feedback(const CongestionFeedback& feedback) {
        // One packet's share is subtracted, so that an ACK of few packets counts less: its gaps are pauses of the
        // sender.
        const auto packets = static_cast<std::int64_t>(feedback.acked_packets);
        if (packets > 0) add(feedback.acked_span - feedback.acked_span / packets);
    }
    void add(Duration span) { mean_ += (std::min(to_seconds(span), kMost) - mean_) / 8.0; }
    /// s
    [[nodiscard]] double mean() const noexcept { return mean_; }
    /// Whether ACKs come less often than the usual receiver sends them.
    [[nodiscard]] bool sparse() const noexcept { return mean_ > kSparse * to_seconds(kSynInterval); }

  private:
    static constexpr double kMost = 0.5;
    static constexpr double kSparse = 1.25;

    double mean_ = 0.0;
};

}  // namespace udtx::congestion
