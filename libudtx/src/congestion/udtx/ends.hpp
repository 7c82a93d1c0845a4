// How far the receiving end may fall behind on a line faster than the ends themselves (UdtxMtr::open).
//
// What waits there waits in the receiver's socket behind the packets' stamps, so that no delay tells of it: only what
// overflows that socket, lost without a queue to be seen. The room found fits it, as a window fits a buffer.
#pragma once

#include "congestion/udtx/loss.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxEnds {
  public:
    /// Packets without a long queue around them, on a line that is open.
    void on_feedback(const CongestionFeedback& feedback, const UdtxLoss::Counts& counts);
    /// Part of the usual room that has not cost losses, (0, 1].
    [[nodiscard]] double fit() const noexcept { return fit_; }

  private:
    double fit_ = 1.0;
    double packets_ = 0.0;  // since then
    double lost_ = 0.0;
    Instant judged_;
};

}  // namespace udtx::congestion
