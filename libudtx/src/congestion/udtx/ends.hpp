// Room of the window if the link is faster than the two hosts (UdtxMtr::open).
//
// Packets then wait in the receiver's socket, after they got their timestamps, so no delay shows them. Only an overflow
// of that socket shows, as loss at short delays. The room found fits the socket as a congestion window fits a buffer.
#pragma once

#include "congestion/udtx/loss.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxEnds {
  public:
    /// Uses the packets at short delays. Call it only while UdtxMtr::open() is true.
    void on_feedback(const CongestionFeedback& feedback, const UdtxLoss::Counts& counts);
    /// Part of the usual room that causes no losses (f), (0, 1].
    [[nodiscard]] double fit() const noexcept { return fit_; }

  private:
    double fit_ = 1.0;
    double packets_ = 0.0;  // since judged_
    double lost_ = 0.0;
    Instant judged_;
};

}  // namespace udtx::congestion
