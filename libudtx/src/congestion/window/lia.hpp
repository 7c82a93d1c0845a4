// LIA, coupled congestion control of MPTCP (RFC 6356): all paths together take at most what one flow would get on the
// best of them. A path without siblings is NewReno.
#pragma once

#include <memory>

#include "congestion/coupling.hpp"
#include "congestion/window/loss_window.hpp"

namespace udtx::congestion {

class Lia final : public LossWindow {
  public:
    /// Null: a path without siblings.
    explicit Lia(const CongestionOptions& options, std::shared_ptr<CouplingGroup> group = {});
    ~Lia() override { group_->leave(id_); }
    Lia(const Lia&) = delete;
    Lia& operator=(const Lia&) = delete;

    void on_feedback(const CongestionFeedback& feedback) override;

  private:
    void avoid(const CongestionFeedback& feedback) override;
    void reduce() override;

    std::shared_ptr<CouplingGroup> group_;
    CouplingGroup::Id id_;
};

}  // namespace udtx::congestion
