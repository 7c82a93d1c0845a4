// The rate cap of a transfer: the user's, the schedule's, and its share of the host's rate.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "common/guarded.hpp"
#include "common/log.hpp"
#include "common/units.hpp"
#include "options/common_options.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

// Shares one rate among all transfers of a user on this host (--host-rate): each transfer takes an equal part. Each
// transfer has a file that its process locks. The lock ends with the process, also after a crash.

class HostShare {
  public:
    /// From now on the other transfers that use this directory count this one.
    static Result<std::unique_ptr<HostShare>> join(const std::string& directory);
    ~HostShare();
    HostShare(const HostShare&) = delete;
    HostShare& operator=(const HostShare&) = delete;

    /// Number of running transfers, including this one. Removes the files of ended processes.
    [[nodiscard]] std::size_t count() const;

  private:
    HostShare(std::string directory, std::string name, UniqueFd lock);
    std::string directory_;
    std::string name_;
    UniqueFd lock_;
};

// Computes the current rate cap from the user's cap (given at the start or later through the control socket), the
// schedule, and the share of the host's rate.

class RateGovernor {
  public:
    struct Settings {
        Rate base = Rate::infinite();
        std::optional<Schedule> schedule{};
        Rate host = Rate::infinite();  ///< for all transfers of this user together
        bool fixed = false;            ///< the cap is also the sending rate, so it cannot be removed
    };
    /// `log` must outlive it.
    RateGovernor(Settings settings, Log& log) : settings_(std::move(settings)), log_(log) {}
    /// The settings that follow from a run's flags.
    RateGovernor(const CommonOptions& options, Rate base, Log& log);

    /// The cap from now on. Always call it on the same thread, at intervals. `active`: a transfer is running; otherwise
    /// other transfers share the host's rate among themselves. Warns once if the host's rate cannot be shared.
    [[nodiscard]] Rate update(Instant now, bool active);
    /// Any thread. Replaces the rate and the schedule of the command line; nullopt restores them. invalid_argument: the
    /// wish removes the cap, but the policy needs one.
    Result<void> set(std::optional<Rate> wish);

  private:
    void count_others(Instant now, bool active);

    Settings settings_;
    Log& log_;
    std::unique_ptr<HostShare> share_;
    std::size_t transfers_ = 1;
    std::optional<Instant> counted_;
    bool shared_ = true;  // false: the host's rate cannot be shared
    Guarded<std::optional<Rate>> wish_;
};

}  // namespace udtx::apps
