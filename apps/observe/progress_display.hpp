// Shows the progress of a running transfer.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/terminal.hpp"
#include "observe/path_progress.hpp"
#include "observe/progress.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

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
