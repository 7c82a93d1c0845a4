// The window of udtx beside flows that fill the queue until it overflows: CUBIC's (RFC 9438), so that each gets what
// one of them would.
//
// Only losses among long delays are events, and only those beyond what random loss explains. Every few seconds, best
// when others have just backed off as well, it drains: if the queue then empties, whoever filled it was of our kind
// or is gone.
//
// BBR does not mind loss, and would leave such a window nearly nothing. But BBR pauses: it empties the queue to measure
// the round trip (ProbeRTT: draft-ietf-ccwg-bbr, section 5.3.4, each 5 s; Linux each 10 s). CUBIC cannot: it keeps 0.7
// of what is in flight (RFC 9438, section 4.6). Where others pause, the fair share is claimed: the window does not fall
// below what this share takes at the present queue.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/sliding_extreme.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// Lost of all packets lately; what is `life` seconds old counts 1/e.
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
    /// What the controller knows when a feedback comes. Seconds, bytes.
    struct Path {
        std::uint32_t congestion_losses = 0;  ///< lost packets of this feedback with a long delay around them
        double random_loss = 0.0;
        double queue = 0.0;
        double rtt = 0.0;  ///< with the queue
        double segment = 0.0;
        bool may_claim = true;  ///< false: many flows of our own could be what keeps the queue full
    };

    /// Where it begins.
    struct Entry {
        double window = 0.0;  ///< bytes
        double goal = 0.0;    ///< bytes, the plateau of the first curve
        double share = 0.0;   ///< bytes/s, what is fair
    };
    void enter(Instant now, const Entry& entry);
    /// Goes on where it was left.
    void resume(Instant now, double window, double goal);
    void leave() noexcept { active_ = false; }
    [[nodiscard]] bool active() const noexcept { return active_; }
    /// The queue has emptied, and not only because a rival paused. `drained`: we did.
    [[nodiscard]] bool over(Instant now, bool empty, bool drained, double base_rtt);

    void on_feedback(const CongestionFeedback& feedback, const Path& path);
    [[nodiscard]] double window() const noexcept { return window_; }  ///< bytes
    [[nodiscard]] double share() const noexcept { return share_; }
    [[nodiscard]] bool claiming() const noexcept { return claiming_; }
    /// A good moment to drain; true once.
    [[nodiscard]] bool take_drain(Instant now);

  private:
    void count(const CongestionFeedback& feedback, const Path& path);
    void claim(Instant now, const Path& path, double dt);
    void judge_anew(Instant now, double segment);
    void look_for_drain(Instant now, double queue, double segment);
    void reduce(Instant now, double segment);

    bool active_ = false;
    double window_ = 0.0;
    double window_max_ = 0.0;
    double origin_ = 0.0;    // window at the start of the epoch
    double estimate_ = 0.0;  // W_est since then, what Reno would have
    double prior_window_ = 0.0;
    Instant epoch_;
    PacketNumber recovery_until_ = 0;
    double losses_ = 0.0;  // this round
    double packets_ = 0.0;
    Instant round_;
    Instant last_drain_;
    bool drain_due_ = false;
    SlidingExtreme<double, std::greater<>> peaks_{std::chrono::seconds(2)};

    double fair_ = 0.0;     // bytes/s
    double share_ = 0.0;    // of that, what may be claimed
    double claimed_ = 0.0;  // and the part of it that the line bears
    double usual_ = 0.0;    // its average
    bool claiming_ = false;
    Instant claimed_since_;
    int pauses_ = 0;  // of others: the queue was empty for a moment, and we had not drained
    DecayingRatio recent_loss_{2.0};
    Instant updated_;
    std::optional<Instant> empty_since_;
};

}  // namespace udtx::congestion
