// Rate-coupled paths: where m paths of a connection send through one bottleneck, each takes the m-th part of what its
// controller wants, which is told of m times what happens. Together they are one flow; alone each is itself.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "congestion/coupling.hpp"
#include "congestion/policy.hpp"

namespace udtx::congestion {

class CoupledShare final : public Around {
  public:
    CoupledShare(std::unique_ptr<CongestionController> inner, std::shared_ptr<CouplingGroup> group,
                 std::uint32_t datagram_bytes)
        : Around(std::move(inner)), group_(std::move(group)), id_(group_->join()), datagram_bytes_(datagram_bytes) {}
    ~CoupledShare() override { group_->leave(id_); }
    CoupledShare(const CoupledShare&) = delete;
    CoupledShare& operator=(const CoupledShare&) = delete;

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override {
        return inner_->pacing_rate() * (1.0 / static_cast<double>(sharers_));
    }

    [[nodiscard]] std::size_t sharers() const noexcept { return sharers_; }

  private:
    void measure(const CongestionFeedback& feedback);

    std::shared_ptr<CouplingGroup> group_;
    CouplingGroup::Id id_;
    std::uint32_t datagram_bytes_;
    std::size_t sharers_ = 1;
    CongestionFeedback whole_;  // keeps the capacity of its vectors
};

}  // namespace udtx::congestion
