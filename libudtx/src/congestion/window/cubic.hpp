// CUBIC (RFC 9438) with HyStart++ (RFC 9406), paced. Windows in bytes. docs/lab/controllers.md lists equations and
// deviations.
#pragma once

#include <optional>

#include "congestion/window/loss_window.hpp"

namespace udtx::congestion {

class Cubic final : public LossWindow {
  public:
    static constexpr double kC = 0.4;     // segments/s^3
    static constexpr double kBeta = 0.7;  // multiplicative decrease

    using LossWindow::LossWindow;

    // For tests; bytes.
    [[nodiscard]] double window_max() const noexcept { return window_max_; }
    /// K: time from the start of the epoch until the window is back at W_max, s.
    [[nodiscard]] double plateau_seconds() const noexcept { return k_; }

  private:
    void avoid(const CongestionFeedback& feedback) override;
    void reduce() override;
    void on_unused(Duration time) override;
    void on_pause() override { epoch_.reset(); }
    void start_epoch(Instant now);
    [[nodiscard]] double cubic_at(double seconds) const;

    double window_max_ = 0.0;  // W_max
    double k_ = 0.0;
    double estimate_ = 0.0;      // W_est, the window that Reno would have
    double prior_window_ = 0.0;  // cwnd_prior, at the last congestion event
    std::optional<Instant> epoch_;
};

}  // namespace udtx::congestion
