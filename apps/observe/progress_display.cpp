#include "observe/progress_display.hpp"

#include <algorithm>
#include <utility>

namespace udtx::apps {
namespace {

/// Intervals for redrawing a status line and for printing a new line. They are a little below the intended 0.2 s and 1
/// s, because callers come every SignalWaiter::kTurn.
constexpr Duration kRedrawInterval = std::chrono::milliseconds(180);
constexpr Duration kLineInterval = std::chrono::milliseconds(980);

constexpr std::size_t kLineColumns = 120;  // without a terminal

Phase phase_of(const transfer::Progress& progress) {
    switch (progress.phase) {
        case transfer::Phase::connect:
            return Phase::connecting;
        case transfer::Phase::transfer:
            return progress.bytes_total == 0 && !progress.totals_final ? Phase::scanning : Phase::transferring;
        case transfer::Phase::flush:
            return Phase::flushing;
        case transfer::Phase::verify:
        case transfer::Phase::done:
            return Phase::verifying;
    }
    return Phase::transferring;
}

std::optional<Duration> time_for(std::uint64_t bytes, Rate rate) {
    if (rate.is_zero()) return std::nullopt;
    return rate.time_for(bytes);
}

}  // namespace

ProgressDisplay::Mode ProgressDisplay::choose(bool quiet, bool forced, const Terminal& terminal) {
    if (quiet) return Mode::off;
    if (terminal.is_tty()) return Mode::redraw;
    return forced ? Mode::lines : Mode::off;
}

void ProgressDisplay::update(Duration now, const transfer::Progress& progress, bool streaming,
                             const std::optional<ConnectionStats>& stats) {
    if (mode_ == Mode::off) return;
    const Duration pause = mode_ == Mode::redraw ? kRedrawInterval : kLineInterval;
    if (last_shown_ && now - *last_shown_ < pause) return;
    last_shown_ = now;
    recent_.sample(now, progress.bytes_done);
    longer_.sample(now, progress.bytes_done);

    ProgressView view;
    view.phase = phase_of(progress);
    view.bytes_done = progress.bytes_done;
    view.bytes_total = std::max(progress.bytes_total, progress.bytes_done);
    view.files_done = progress.files_done;
    view.files_total = progress.files_total;
    view.totals_final = progress.totals_final;
    view.totals_known = !streaming;
    view.rate = recent_.rate();
    if (!streaming && progress.totals_final)
        view.remaining = time_for(view.bytes_total - view.bytes_done, longer_.rate());
    view.name = progress.current_name;
    view.notice = notice_;
    if (stats) paths_.sample(now, *stats);
    // Leaves the last column free, because some terminals wrap as soon as it is written.
    const std::size_t columns = mode_ == Mode::redraw ? terminal_.columns() - 1 : kLineColumns;
    show(format_progress(view, columns), stats ? paths_.lines(columns) : std::vector<std::string>());
}

void ProgressDisplay::show(const std::string& line, std::vector<std::string> paths) {
    if (mode_ == Mode::lines) {
        terminal_.line(line);
        for (const std::string& path : paths) terminal_.line(path);
        return;
    }
    paths.resize(std::min(paths.size(), terminal_.rows() - 1));  // more lines could not be erased
    std::string all = line;
    for (const std::string& path : paths) all += "\n" + path;
    terminal_.status(all);
}

void ProgressDisplay::finish() { terminal_.clear_status(); }

}  // namespace udtx::apps
