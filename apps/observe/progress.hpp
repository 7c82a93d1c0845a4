// The progress line, and the meter of its rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

enum class Phase { connecting, scanning, transferring, flushing, verifying };
[[nodiscard]] const char* to_string(Phase phase) noexcept;

struct ProgressView {
    Phase phase = Phase::connecting;
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
    std::uint64_t files_done = 0;
    std::uint64_t files_total = 0;
    bool totals_final = false;  ///< the scan is over
    bool totals_known = true;   ///< false for a pipe, whose length is unknown
    Rate rate;
    std::optional<Duration> remaining;
    std::string name;    ///< file being sent, raw bytes
    std::string notice;  ///< shown in place of rates and phase while nothing moves
};

/// At most `columns` wide. If space is short, the least important parts are dropped first.
[[nodiscard]] std::string format_progress(const ProgressView& view, std::size_t columns);

/// Rate over the last few seconds, from samples of a growing counter.
class RateMeter {
  public:
    /// Window of the current rate.
    static constexpr Duration kShortWindow = std::chrono::seconds(2);

    explicit RateMeter(Duration window) : window_(window) {}
    void sample(Duration now, std::uint64_t total);
    [[nodiscard]] Rate rate() const;

  private:
    struct Sample {
        Duration at{};
        std::uint64_t total = 0;
    };
    Duration window_;
    std::deque<Sample> samples_;
};

}  // namespace udtx::apps
