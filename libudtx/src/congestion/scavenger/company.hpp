// Decides whether a flow of policy `low` has the link to itself, and so whose queue it sees.
//
// A flow that gets less of the link than its capacity makes no queue. Others then keep the queue, and are to keep the
// link. docs/lab/controllers.md, `low`, Company.
#pragma once

#include <optional>

#include "udtx/time.hpp"

namespace udtx::congestion {

class ScavengerCompany {
  public:
    static constexpr double kLeastGrowth = 1.0 / 128;  ///< of the window, per round trip
    static constexpr double kFastGrowth = 1.0 / 8;     ///< the same, while the window is known or believed to fit

    /// Result of one round trip.
    struct Round {
        Instant now;
        Duration rtt{};
        Duration longest{};           ///< longest queueing delay
        std::optional<double> share;  ///< of the link; unknown if the window was not filled
    };
    void on_round(const Round& round);
    /// `queue`: queueing delay now. `most`: queue that the flow may keep when it is alone, at least 1 ms.
    void on_feedback(Instant now, Duration queue, Duration most);
    /// The queue overflowed, so the flow cannot get more.
    void on_overflow(Instant now);

    [[nodiscard]] bool present() const noexcept { return present_; }
    /// Whether a trial runs, which finds out how much the flow can get. The delay may stay high without a queue, or
    /// another `low` flow may keep the queue.
    [[nodiscard]] bool trial() const noexcept { return trial_until_.has_value(); }
    /// Queue that the flow may keep now.
    [[nodiscard]] Duration target(Duration most) const;
    /// Whether `queue` is longer than this flow itself would make it.
    [[nodiscard]] bool foreign(Duration queue, Duration most) const;
    /// Growth of the window in a round trip in which a flow alone would grow by `alone`.
    [[nodiscard]] double growth(Instant now, double alone) const;

  private:
    bool present_ = false;
    double share_ = 1.0;
    Instant busy_;  // when the queue was last not empty
    Duration round_queue_{};
    Duration rtt_{};
    Instant last_trial_;
    std::optional<Instant> trial_until_;
    Duration trial_target_{};
};

}  // namespace udtx::congestion
