// Rate-coupled paths: m paths of a connection that share a bottleneck act together as one flow. Each controller sees m
// times what happens on its path, and the path uses 1/m of what the controller wants. A path with m = 1 is unchanged.
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
    CongestionFeedback whole_;  // reused, to keep the capacity of its vectors
};

}  // namespace udtx::congestion
