// Policies of a flow, wrapped around any controller (docs/inside/controllers.md).
#pragma once

#include <memory>
#include <type_traits>

#include "base/error.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Wraps `controller` as the policy and the minimum rate of `options` require.
[[nodiscard]] std::unique_ptr<CongestionController> apply_policy(std::unique_ptr<CongestionController> controller,
                                                                 const CongestionOptions& options);

/// Forwards every call. The policies override what they change.
class Around : public CongestionController {
  public:
    explicit Around(std::unique_ptr<CongestionController> inner) : inner_(std::move(inner)) {}
    void on_sent(const CongestionSent& packet) override { inner_->on_sent(packet); }
    void on_feedback(const CongestionFeedback& feedback) override { inner_->on_feedback(feedback); }
    void on_limits(const PathLimits& limits) override { inner_->on_limits(limits); }
    [[nodiscard]] std::uint64_t window() const override { return inner_->window(); }
    [[nodiscard]] Rate pacing_rate() const override { return inner_->pacing_rate(); }
    [[nodiscard]] std::uint32_t probe_packets() const override { return inner_->probe_packets(); }
    [[nodiscard]] CongestionReport report() const override { return inner_->report(); }
    void recall(const KnownPath& path, Duration rtt) override { inner_->recall(path, rtt); }
    [[nodiscard]] std::optional<KnownPath> known_path() const override { return inner_->known_path(); }

  protected:
    std::unique_ptr<CongestionController> inner_;
};

/// `--min-rate`: keeps rate and window large enough for the floor.
class RateFloor : public Around {
  public:
    RateFloor(std::unique_ptr<CongestionController> inner, Rate floor, std::uint32_t datagram_bytes)
        : Around(std::move(inner)), floor_(floor), datagram_bytes_(datagram_bytes) {}
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;

  protected:
    Rate floor_;
    std::uint32_t datagram_bytes_;
    Duration patience_ = std::chrono::milliseconds(400);  // time within which an acknowledgement is expected
};

/// `fixed`: paces at the cap, whatever happens.
class FixedRate final : public RateFloor {
  public:
    using RateFloor::RateFloor;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] Rate pacing_rate() const override { return floor_; }
};

/// `high`: one flow that acts as kFlows flows. The controller sees the part of one flow (MulTCP's idea: Crowcroft and
/// Oechslin 1998).
class SeveralFlows final : public Around {
  public:
    static constexpr std::uint32_t kFlows = 2;
    using Around::Around;
    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override { return kFlows * inner_->window(); }
    [[nodiscard]] Rate pacing_rate() const override { return inner_->pacing_rate() * kFlows; }
    void recall(const KnownPath& path, Duration rtt) override;
    [[nodiscard]] std::optional<KnownPath> known_path() const override;

  private:
    CongestionFeedback part_;  // reused, to keep the capacity of its vectors
};

// Wraps a controller of the application: the error of an exception that it throws names it as the source.

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
    void recall(const KnownPath& path, Duration rtt) override {
        call([&] { inner_->recall(path, rtt); });
    }
    [[nodiscard]] std::optional<KnownPath> known_path() const override {
        return call([&] { return inner_->known_path(); });
    }

  private:
    template <class Call>
    static std::invoke_result_t<Call&> call(Call&& call) {
        return call_plug_in("the controller of TransportConfig::congestion_factory", call);
    }
};

}  // namespace udtx::congestion
