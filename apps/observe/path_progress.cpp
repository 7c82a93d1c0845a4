#include "observe/path_progress.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

std::string loss_text(double share) {
    std::array<char, 16> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.1f%%", share * 100.0);
    return buffer.data();
}

}  // namespace

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
        parts.push_back({"loss " + loss_text(lost), 2});
    }
    if (path.reinjected_bytes > 0) parts.push_back({"reinjected " + format_bytes(path.reinjected_bytes), 0});
    return fit_parts(std::move(parts), columns);
}

}  // namespace udtx::apps
