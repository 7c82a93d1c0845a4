#include "observe/progress.hpp"

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/text.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

std::string percentage(const ProgressView& view) {
    if (!view.totals_known || view.bytes_total == 0) return "  -- ";
    double share = static_cast<double>(view.bytes_done) / static_cast<double>(view.bytes_total);
    // Only a finished transfer shows 100 %, although a share may round up to it.
    if (share > 0.999) share = view.bytes_done >= view.bytes_total && view.totals_final ? 1.0 : 0.999;
    std::array<char, 16> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%5.1f%%", share * 100.0);
    return buffer.data();
}

std::string amount(const ProgressView& view) {
    if (!view.totals_known) return format_bytes(view.bytes_done);
    return format_bytes(view.bytes_done) + "/" + format_bytes(view.bytes_total) + (view.totals_final ? "" : "+");
}

std::string files(const ProgressView& view) {
    return format_count(view.files_done) + "/" + format_count(view.files_total) + (view.totals_final ? "" : "+") +
           " files";
}

}  // namespace

const char* to_string(Phase phase) noexcept {
    switch (phase) {
        case Phase::connecting:
            return "connect";
        case Phase::scanning:
            return "scan";
        case Phase::transferring:
            return "transfer";
        case Phase::flushing:
            return "flush";
        case Phase::verifying:
            return "verify";
    }
    return "";
}

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
    if (view.totals_known) parts.push_back({files(view), 2});
    parts.push_back({to_string(view.phase), 0});

    std::string out = fit_parts(std::move(parts), columns);
    const std::size_t used = count_columns(out);
    if (!view.name.empty() && columns >= used + 14) {
        out += "  " + shorten(escape_for_terminal(view.name), columns - used - 2);
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

}  // namespace udtx::apps
