// Wraps a controller of the application: the error of an exception that it throws names it as the source.
#pragma once

#include <type_traits>

#include "base/plug_in.hpp"
#include "congestion/policy.hpp"

namespace udtx::congestion {

class OwnController final : public Around {
  public:
    using Around::Around;
    void on_sent(const CongestionSent& packet) override {
        call([&] { inner_->on_sent(packet); });
    }
    void on_feedback(const CongestionFeedback& feedback) override {
        call([&] { inner_->on_feedback(feedback); });
    }
    void on_limits(const PathLimits& limits) override {
        call([&] { inner_->on_limits(limits); });
    }
    [[nodiscard]] std::uint64_t window() const override {
        return call([&] { return inner_->window(); });
    }
    [[nodiscard]] Rate pacing_rate() const override {
        return call([&] { return inner_->pacing_rate(); });
    }
    [[nodiscard]] std::uint32_t probe_packets() const override {
        return call([&] { return inner_->probe_packets(); });
    }
    [[nodiscard]] CongestionReport report() const override {
        return call([&] { return inner_->report(); });
    }

  private:
    template <class Call>
    static std::invoke_result_t<Call&> call(Call&& call) {
        return call_plug_in("the controller of TransportConfig::congestion_factory", call);
    }
};

}  // namespace udtx::congestion
