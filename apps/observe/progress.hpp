// The progress line, and the meter of its rates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/log.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

struct ProgressView {
    transfer::Progress progress;
    bool totals_known = true;  ///< false for a pipe, whose length is unknown
    Rate rate;
    std::optional<Duration> remaining;
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

// Shows how each path of a connection performs at present: the lines below the progress line, with -v.

/// The end that this process is. The data's sender knows what was delivered, lost and retransmitted; the receiver knows
/// what arrives.
enum class DataEnd { sender, receiver };

/// Share of the packets that were lost, 0 to 1.
[[nodiscard]] inline double loss_of(const PathStats& path) noexcept {
    return static_cast<double>(path.lost_packets) / static_cast<double>(std::max<std::uint64_t>(path.sent_packets, 1));
}

class PathMeters {
  public:
    explicit PathMeters(DataEnd end) : end_(end) {}

    void sample(Duration now, const ConnectionStats& stats);
    /// One line for each open path, at most `columns` wide; empty if there is only one path. Rate and loss are those of
    /// about the last two seconds.
    [[nodiscard]] std::vector<std::string> lines(std::size_t columns) const;

  private:
    struct Meter {
        RateMeter bytes{RateMeter::kShortWindow};
        RateMeter sent{RateMeter::kShortWindow};
        RateMeter lost{RateMeter::kShortWindow};
        PathStats last;
    };
    [[nodiscard]] std::string line(const Meter& meter, std::size_t columns) const;

    DataEnd end_;
    std::map<PathId, Meter> meters_;
};

// Shows the progress of a running transfer.

/// Redraws a status line on a terminal (5 times a second), or prints a line a second elsewhere. On request it adds one
/// line per path.
class ProgressDisplay {
  public:
    enum class Mode { off, redraw, lines };

    /// `with_paths`: update() gets the statistics.
    ProgressDisplay(Terminal& terminal, Mode mode, DataEnd end, bool with_paths)
        : terminal_(terminal), mode_(mode), with_paths_(with_paths && mode != Mode::off), paths_(end) {}
    [[nodiscard]] bool with_paths() const noexcept { return with_paths_; }
    /// `streaming`: the source is a pipe of unknown length. `stats` are those of the only connection.
    void update(Duration now, const transfer::Progress& progress, bool streaming,
                const std::optional<ConnectionStats>& stats);
    void finish();
    /// The reason why nothing moves; empty: the transfer moves.
    void set_notice(std::string notice) { notice_ = std::move(notice); }

    [[nodiscard]] static Mode choose(bool quiet, bool forced, const Terminal& terminal);

  private:
    void show(const std::string& line, std::vector<std::string> paths);

    Terminal& terminal_;
    Mode mode_;
    bool with_paths_;
    std::string notice_;
    PathMeters paths_;
    std::optional<Duration> last_shown_;
    /// Window of the rate for the ETA, long enough to keep the ETA steady.
    static constexpr Duration kEtaWindow = std::chrono::seconds(15);

    RateMeter recent_{RateMeter::kShortWindow};
    RateMeter longer_{kEtaWindow};
};

}  // namespace udtx::apps
