#include "congestion/window/lia.hpp"

#include <algorithm>
#include <utility>

namespace udtx::congestion {

Lia::Lia(const CongestionOptions& options, std::shared_ptr<CouplingGroup> group)
    : LossWindow(options), group_(group ? std::move(group) : std::make_shared<CouplingGroup>()), id_(group_->join()) {}

void Lia::on_feedback(const CongestionFeedback& feedback) {
    LossWindow::on_feedback(feedback);
    auto& self = group_->member(id_);
    self.window = window_;
    self.rtt = to_seconds(smoothed_rtt_);
}

// cwnd_i += min(alpha acked MSS_i / cwnd_total, acked MSS_i / cwnd_i) (section 3). The second term is what a single
// flow adds.
void Lia::avoid(const CongestionFeedback& feedback) {
    const double acked = static_cast<double>(feedback.acked_bytes) * segment_;
    const double total = std::max(group_->total_window(), window_);
    window_ += std::min(group_->alpha() * acked / total, acked / window_);
}

void Lia::reduce() {
    threshold_ = std::max(window_ / 2.0, kMinSegments * segment_);
    window_ = threshold_;
}

}  // namespace udtx::congestion
