// The window of udtx beside flows that fill the queue until it overflows. It follows CUBIC (RFC 9438), so that each
// flow gets what a CUBIC flow would get.
//
// Only losses at long delays count as events, and only those beyond random loss. The flow drains every few seconds,
// best when others have just backed off, too. If the queue then empties, a `udtx` flow had filled it, or the competing
// flow is gone.
//
// BBR ignores loss and would leave such a window almost nothing. But BBR pauses: it empties the queue to measure the
// round trip (ProbeRTT: draft-ietf-ccwg-bbr, section 5.3.4, each 5 s; Linux each 10 s). CUBIC keeps 0.7 of its flight
// (RFC 9438, section 4.6), so it cannot do that. If a competing flow pauses, this flow fixes the fair share. Its window
// then stays at or above what this share takes at the present queue.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Recent ratio of lost packets; packets of `life` seconds ago count 1/e.
class DecayingRatio {
  public:
    explicit DecayingRatio(double life) : life_(life) {}
    void add(double lost, double packets, double dt);
    [[nodiscard]] double value() const noexcept { return packets_ > 0.0 ? lost_ / packets_ : 0.0; }

  private:
    double life_;
    double lost_ = 0.0;
    double packets_ = 0.0;
};

class UdtxCompete {
  public:
    /// What the controller knows at a feedback. Seconds, bytes.
    struct Path {
        std::uint32_t congestion_losses = 0;  ///< lost packets of this feedback, among long delays
        double random_loss = 0.0;
        double queue = 0.0;
        double rtt = 0.0;  ///< with the queue
        double segment = 0.0;
        bool may_fix = true;  ///< false: many `udtx` flows could keep the queue full
    };

    /// State at the start of competing.
    struct Entry {
        double window = 0.0;  ///< bytes
        double goal = 0.0;    ///< bytes, the plateau of the first curve
        double share = 0.0;   ///< fair share, bytes/s
    };
    void enter(Instant now, const Entry& entry);
    /// Continues competing that was left.
    void resume(Instant now, double window, double goal);
    void leave() noexcept { active_ = false; }
    [[nodiscard]] bool active() const noexcept { return active_; }
    /// Whether the queue has emptied, and not only by a pause of a competing flow. `drained`: this flow emptied it.
    [[nodiscard]] bool over(Instant now, bool empty, bool drained, double base_rtt);

    void on_feedback(const CongestionFeedback& feedback, const Path& path);
    [[nodiscard]] double window() const noexcept { return window_; }  ///< bytes
    [[nodiscard]] double share() const noexcept { return share_; }
    [[nodiscard]] bool fixed() const noexcept { return fixed_; }
    /// Whether this is a good moment to drain; true once.
    [[nodiscard]] bool take_drain(Instant now);

  private:
    void count(const CongestionFeedback& feedback, const Path& path);
    void fix_share(Instant now, const Path& path, double dt);
    void judge_anew(Instant now, double segment);
    void look_for_drain(Instant now, double queue, double segment);
    void reduce(Instant now, double segment);

    bool active_ = false;
    double window_ = 0.0;
    double window_max_ = 0.0;
    double origin_ = 0.0;    // window at the start of the epoch
    double estimate_ = 0.0;  // W_est since then, the window that Reno would have
    double prior_window_ = 0.0;
    Instant epoch_;
    PacketNumber recovery_until_ = 0;
    double losses_ = 0.0;  // this round
    double packets_ = 0.0;
    Instant round_;
    Instant last_drain_;
    bool drain_due_ = false;
    SlidingExtreme<double, std::greater<>> peaks_{std::chrono::seconds(2)};

    double fair_ = 0.0;         // bytes/s
    double share_ = 0.0;        // the most of fair_ that may be fixed
    double fixed_share_ = 0.0;  // the part of share_ that the link carries without too much loss
    double usual_ = 0.0;        // average of fixed_share_
    bool fixed_ = false;
    Instant fixed_since_;
    int pauses_ = 0;  // pauses of others: the queue was empty for a moment without a drain of this flow
    DecayingRatio recent_loss_{2.0};
    Instant updated_;
    std::optional<Instant> empty_since_;
};

}  // namespace udtx::congestion
