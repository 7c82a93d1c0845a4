// The cap that holds at this moment: what the user asked for at the start, or has asked for since through the control
// socket, the schedule, and the share of the host's rate.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "control/host_share.hpp"
#include "options/schedule.hpp"
#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

class RateGovernor {
  public:
    struct Settings {
        Rate base = Rate::infinite();
        std::optional<Schedule> schedule{};
        Rate host = Rate::infinite();  ///< for all transfers of this user together
        bool fixed = false;            ///< the cap is the rate: it cannot be lifted
    };
    explicit RateGovernor(Settings settings) : settings_(std::move(settings)) {}

    /// One thread, now and then: the cap from now on. `active`: a transfer is under way; without one the host's rate
    /// is left to the others.
    [[nodiscard]] Rate update(Instant now, bool active);
    /// Any thread: in place of the rate and the schedule of the command line; nullopt: these again.
    /// invalid_argument: no cap, where the policy needs one.
    Result<void> set(std::optional<Rate> wish);
    /// Once, on the thread of update(): why the host's rate is not shared, if it is not.
    [[nodiscard]] std::optional<std::string> take_trouble();

  private:
    void count_others(Instant now, bool active);

    Settings settings_;
    std::unique_ptr<HostShare> share_;
    std::size_t transfers_ = 1;
    std::optional<Instant> counted_;
    std::string trouble_;
    bool told_ = false;
    std::mutex mutex_;  // guards what follows
    std::optional<Rate> wish_;
};

}  // namespace udtx::apps
