// Whether a flow that uses what others leave has the line to itself, and so whose the queue is.
//
// Who has less of the line than it carries makes no queue: what queue there is then is kept by somebody else, who is to
// keep the line. docs/lab/controllers.md, `low`, Company.
#pragma once

#include <optional>

#include "udtx/time.hpp"

namespace udtx::congestion {

class ScavengerCompany {
  public:
    static constexpr double kLeastGrowth = 1.0 / 128;  ///< of the window, a round trip
    static constexpr double kFastGrowth = 1.0 / 8;     ///< the same, towards what is known or thought to fit

    /// Of a round trip; delays are of the queue.
    struct Round {
        Instant now;
        Duration rtt{};
        Duration longest{};           ///< queue
        std::optional<double> share;  ///< of the line; unknown where the window was not used
    };
    void on_round(const Round& round);
    /// `most`: queue that the flow may keep when it is alone; 1 ms at least.
    void on_feedback(Instant now, Duration queue, Duration most);
    /// The queue overflowed: there is no more to be had.
    void on_overflow(Instant now);

    [[nodiscard]] bool present() const noexcept { return present_; }
    /// Finds out what there is to be had: what keeps the delay up may be no queue, or kept by another of its kind.
    [[nodiscard]] bool trial() const noexcept { return trial_until_.has_value(); }
    /// Queue that may be kept now.
    [[nodiscard]] Duration target(Duration most) const;
    /// That much more is not what the flow itself keeps.
    [[nodiscard]] bool foreign(Duration queue, Duration most) const;
    /// Growth of the window in a round trip in which the flow alone would grow by `alone`.
    [[nodiscard]] double growth(Instant now, double alone) const;

  private:
    bool present_ = false;
    double share_ = 1.0;
    Instant busy_;  // when the queue was not empty, last
    Duration round_queue_{};
    Duration rtt_{};
    Instant last_trial_;
    std::optional<Instant> trial_until_;
    Duration trial_target_{};
};

}  // namespace udtx::congestion
