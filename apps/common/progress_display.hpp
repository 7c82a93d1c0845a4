// Shows how a transfer goes while it runs, and notices when it goes no more.
#pragma once

#include <optional>

#include "common/progress.hpp"
#include "common/terminal.hpp"
#include "transfer/report.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// Redraws a status line on a terminal (5 a second), or prints a line a second elsewhere.
class ProgressDisplay {
  public:
    enum class Mode { off, redraw, lines };

    ProgressDisplay(Terminal& terminal, Mode mode) : terminal_(terminal), mode_(mode) {}
    /// `streaming`: the source is a pipe, nobody knows its length.
    void update(Duration now, const transfer::Progress& progress, bool streaming);
    void finish();

    [[nodiscard]] static Mode choose(bool quiet, bool forced, const Terminal& terminal);

  private:
    Terminal& terminal_;
    Mode mode_;
    std::optional<Duration> last_shown_;
    RateMeter recent_{std::chrono::seconds(2)};
    RateMeter longer_{std::chrono::seconds(15)};  // for the ETA, which should not jump about
};

/// Says for how long nothing has moved.
class StallWatch {
  public:
    [[nodiscard]] Duration idle(Duration now, const transfer::Progress& progress);

  private:
    struct Mark {
        transfer::Phase phase{};
        std::uint64_t files_done = 0;
        std::uint64_t files_total = 0;
        std::uint64_t bytes_done = 0;
        std::uint64_t bytes_sent = 0;
        friend bool operator==(const Mark&, const Mark&) = default;
    };
    std::optional<Mark> last_;
    Duration since_{};
};

}  // namespace udtx::apps
