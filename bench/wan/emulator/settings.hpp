// Parses the link's settings from the command line: "rate=100M,delay=50ms,queue=1bdp,loss=0.1%".
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "line_params.hpp"
#include "udtx/result.hpp"

namespace udtx::wan {

/// Parses "20ms", "1.5s" or "300us".
Result<Duration> parse_duration(std::string_view text);
/// Parses "0.01" or "1%".
Result<double> parse_probability(std::string_view text);

class ScenarioSettings {
  public:
    enum class Side { down, up, both };  ///< down: from A to B

    /// Sets the named settings from `at` on and keeps the others. `at` must not decrease from call to call.
    Result<void> apply(Duration at, Side side, std::string_view text);
    /// Applies a change such as "5s:down:rate=50M".
    Result<void> apply_change(std::string_view text);
    /// Applies "3:delay=40ms": the host of B whose address ends in 3 gets this extra delay in each direction.
    Result<void> apply_host(std::string_view text);

    struct Lines {
        LineSetup down;
        LineSetup up;
    };
    /// Both directions. Queues in bandwidth-delay products become bytes: the multiple of rate x (delay down + delay
    /// up).
    [[nodiscard]] Result<Lines> lines(std::uint64_t seed) const;

  private:
    struct Settings {
        LineParams params;
        std::optional<double> queue_bdp;
    };
    struct Moment {
        Duration at{};
        Settings down;
        Settings up;
    };
    static Result<void> set(Settings& settings, std::string_view key, std::string_view value);
    static Result<void> set_queue(Settings& settings, std::string_view value);
    static Result<void> resolve(const Settings& settings, Duration round_trip, LineParams& out);

    std::vector<Moment> moments_ = std::vector<Moment>(1);
    std::array<Duration, kFlows> extra_delay_{};
};

}  // namespace udtx::wan
