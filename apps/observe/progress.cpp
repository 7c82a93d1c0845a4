#include "observe/progress.hpp"

#include <array>
#include <cstdio>
#include <string_view>

#include "common/text.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

std::uint64_t total_of(const transfer::Progress& progress) {
    return std::max(progress.bytes_total, progress.bytes_done);
}

std::string percent(const char* format, double share) {
    std::array<char, 16> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, share * 100.0);
    return buffer.data();
}

std::string percentage(const ProgressView& view) {
    const transfer::Progress& progress = view.progress;
    const std::uint64_t total = total_of(progress);
    if (!view.totals_known || total == 0) return "  -- ";
    double share = static_cast<double>(progress.bytes_done) / static_cast<double>(total);
    // Only a finished transfer shows 100 %, although a share may round up to it.
    if (share > 0.999) share = progress.bytes_done >= total && progress.totals_final ? 1.0 : 0.999;
    return percent("%5.1f%%", share);
}

std::string amount(const ProgressView& view) {
    const transfer::Progress& progress = view.progress;
    const std::string done = format_bytes(progress.bytes_done);
    if (!view.totals_known) return done;
    return done + "/" + format_bytes(total_of(progress)) + (progress.totals_final ? "" : "+");
}

std::string files(const transfer::Progress& progress) {
    return format_count(progress.files_done) + "/" + format_count(progress.files_total) +
           (progress.totals_final ? "" : "+") + " files";
}

/// The phase for users. A tree of which nothing is known yet is being scanned.
std::string_view phase_text(const transfer::Progress& progress) {
    using transfer::Phase;
    if (progress.phase == Phase::transfer && total_of(progress) == 0 && !progress.totals_final) return "scan";
    return transfer::to_string(progress.phase == Phase::done ? Phase::verify : progress.phase);
}

}  // namespace

std::string format_progress(const ProgressView& view, std::size_t columns) {
    std::vector<LinePart> parts;
    parts.push_back({percentage(view), 6});
    parts.push_back({amount(view), 5});
    if (!view.notice.empty()) {
        parts.push_back({view.notice, 7});
        return fit_parts(std::move(parts), columns);
    }
    parts.push_back({format_rate(view.rate), 4});
    parts.push_back({format_byte_rate(view.rate), 1});
    if (view.remaining) parts.push_back({"ETA " + format_clock(*view.remaining), 3});
    if (view.totals_known) parts.push_back({files(view.progress), 2});
    parts.push_back({std::string(phase_text(view.progress)), 0});

    std::string out = fit_parts(std::move(parts), columns);
    const std::size_t used = count_columns(out);
    const std::string& name = view.progress.current_name;
    if (!name.empty() && columns >= used + 14) {
        out += "  " + shorten(escape_for_terminal(name), columns - used - 2);
    }
    return out;
}

void RateMeter::sample(Duration now, std::uint64_t total) {
    samples_.push_back({now, total});
    // Keeps one sample older than the window, so that the samples always cover the window.
    while (samples_.size() > 2 && samples_[1].at + window_ <= now) samples_.pop_front();
}

Rate RateMeter::rate() const {
    if (samples_.size() < 2) return {};
    const Sample& first = samples_.front();
    const Sample& last = samples_.back();
    return last.total > first.total ? Rate::from_bytes(last.total - first.total, last.at - first.at) : Rate();
}

void PathMeters::sample(Duration now, const ConnectionStats& stats) {
    const auto is_there = [&](const auto& item) {
        return std::any_of(stats.paths.begin(), stats.paths.end(),
                           [&](const PathStats& path) { return path.id == item.first; });
    };
    std::erase_if(meters_, [&](const auto& item) { return !is_there(item); });
    for (const PathStats& path : stats.paths) {
        Meter& meter = meters_[path.id];
        if (path.received_packets < meter.last.received_packets) meter = {};  // the path belongs to a new connection
        meter.bytes.sample(now, end_ == DataEnd::sender ? path.delivered_bytes : path.received_bytes);
        meter.sent.sample(now, path.sent_packets);
        meter.lost.sample(now, path.lost_packets);
        meter.last = path;
    }
}

std::vector<std::string> PathMeters::lines(std::size_t columns) const {
    std::vector<std::string> lines;
    if (meters_.size() < 2) return lines;
    for (const auto& [id, meter] : meters_) {
        if (meter.last.state != PathState::closed) lines.push_back(line(meter, columns));
    }
    return lines;
}

std::string PathMeters::line(const Meter& meter, std::size_t columns) const {
    const PathStats& path = meter.last;
    const bool sender = end_ == DataEnd::sender;
    std::vector<LinePart> parts;
    parts.push_back({"path " + std::to_string(path.id.value), 6});
    parts.push_back({host_text(path.local) + " -> " + to_string(path.remote), 1});
    parts.push_back({std::string(to_string(path.state)) + (path.standby ? ", standby" : ""), 5});
    parts.push_back({format_rate(meter.bytes.rate()), 4});
    if (path.smoothed_rtt > Duration::zero()) parts.push_back({"RTT " + format_milliseconds(path.smoothed_rtt), 3});
    if (sender) {
        const double sent = meter.sent.rate().bps();
        const double lost = sent > 0.0 ? std::min(meter.lost.rate().bps() / sent, 1.0) : 0.0;
        parts.push_back({"loss " + percent("%.1f%%", lost), 2});
    }
    if (path.reinjected_bytes > 0) parts.push_back({"reinjected " + format_bytes(path.reinjected_bytes), 0});
    return fit_parts(std::move(parts), columns);
}

namespace {

/// Intervals for redrawing a status line and for printing a new line. They are a little below the intended 0.2 s and 1
/// s, because callers come every SignalWaiter::kTurn.
constexpr Duration kRedrawInterval = std::chrono::milliseconds(180);
constexpr Duration kLineInterval = std::chrono::milliseconds(980);

constexpr std::size_t kLineColumns = 120;  // without a terminal

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
    view.progress = progress;
    view.totals_known = !streaming;
    view.rate = recent_.rate();
    if (!streaming && progress.totals_final && !longer_.rate().is_zero()) {
        view.remaining = longer_.rate().time_for(total_of(progress) - progress.bytes_done);
    }
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
