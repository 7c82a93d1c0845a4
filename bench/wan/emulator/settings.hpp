// The line as the command line describes it: "rate=100M,delay=50ms,queue=1bdp,loss=0.1%".
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "line_params.hpp"
#include "udtx/result.hpp"

namespace udtx::wan {

/// "20ms", "1.5s", "300us".
Result<Duration> parse_duration(std::string_view text);
/// "0.01" or "1%".
Result<double> parse_probability(std::string_view text);

class ScenarioSettings {
  public:
    enum class Side { down, up, both };  ///< down: from A to B

    /// Settings valid from `at` on; those not named stay. To be called with rising times.
    Result<void> apply(Duration at, Side side, std::string_view text);
    /// "5s:down:rate=50M"
    Result<void> apply_change(std::string_view text);
    /// "3:delay=40ms": extra delay each way of the host of B whose address ends in 3
    Result<void> apply_host(std::string_view text);

    struct Lines {
        LineSetup down;
        LineSetup up;
    };
    /// Multiples of the bandwidth-delay product become bytes of rate x (delay down + delay up).
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
