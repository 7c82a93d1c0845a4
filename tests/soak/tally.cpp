#include "soak/tally.hpp"

#include <algorithm>
#include <cstdio>

namespace udtx::soak {

void Tally::take(const std::string& name, double value) {
    double& figure = figures_[name];
    figure = name.starts_with("most_") ? std::max(figure, value) : figure + value;
}

double Tally::get(const std::string& name) const {
    const auto found = figures_.find(name);
    return found == figures_.end() ? 0.0 : found->second;
}

void Tally::add(const Plan& plan, const Outcome& outcome) {
    take("episodes", 1);
    if (plan.hours_long) take("long_episodes", 1);
    if (plan.lines.size() > 1) take("several_paths", 1);
    if (!outcome.violations.empty()) take("failed", 1);
    take("virtual_seconds", to_seconds(outcome.lasted));
    take("moving_seconds", static_cast<double>(outcome.moving_seconds));
    take("bytes", static_cast<double>(outcome.bytes));
    take("events", static_cast<double>(outcome.events));
    take("connections", static_cast<double>(outcome.connections));
    take("rekeys", static_cast<double>(outcome.key_updates));
    take("faults", static_cast<double>(plan.faults.size()));
    for (const Task& task : plan.tasks) {
        if (task.reader_speed > 0) take("slow_readers", 1);
    }
    const auto has = [&plan](auto&& fits) { return std::ranges::any_of(plan.faults, fits) ? 1.0 : 0.0; };
    if (plan.client_experiment.first_number > 0) take("near_wrap", 1);
    take("loss_50", has([](const Fault& f) { return f.kind == FaultKind::loss && f.value >= 0.5; }));
    take("bursts_1000", has([](const Fault& f) { return f.kind == FaultKind::bursts && f.value >= 1000.0; }));
    take("duplicates_20", has([](const Fault& f) {
             return (f.kind == FaultKind::duplicates && f.value >= 0.2) ||
                    (f.kind == FaultKind::corruption && f.value >= 0.02);
         }));
    take("most_wait", outcome.longest_wait);
    take("most_memory_share", outcome.most_memory);
    take("most_memory_bytes", static_cast<double>(outcome.most_memory_bytes));
    take("most_lasted", to_seconds(outcome.lasted));
}

void Tally::add(const FilesOutcome& outcome) {
    take("episodes", 1);
    take("files_episodes", 1);
    if (!outcome.violations.empty()) take("failed", 1);
    take("virtual_seconds", to_seconds(outcome.lasted));
    take("files_bytes", static_cast<double>(outcome.bytes));
    take("events", static_cast<double>(outcome.events));
    take("outages", outcome.outages);
}

void Tally::memory(std::uint64_t resident) {
    // The first episodes fill memory that stays allocated: tables of the libraries, the pattern.
    constexpr double kWarm = 5.0;
    if (get("episodes") == kWarm) take("most_resident_first", static_cast<double>(resident));
    figures_["most_resident_last"] = static_cast<double>(resident);
    take("most_resident", static_cast<double>(resident));
}

std::string Tally::lines() const {
    std::string out;
    for (const auto& [name, value] : figures_) {
        char line[120];
        std::snprintf(line, sizeof line, "FIGURE %s %.17g\n", name.c_str(), value);
        out += line;
    }
    return out;
}

std::string Tally::summary(double real_seconds) const {
    const double hours = get("virtual_seconds") / 3600.0;
    char out[1200];
    std::snprintf(
        out, sizeof out,
        "soak: %.0f episodes, %.0f of them failed; %.2f virtual hours in %.0f s\n"
        "  %.0f episodes over several lines, %.0f of hours (the longest %.1f h), %.0f connections, %.0f key updates, "
        "%.0f "
        "faults\n"
        "  data moved in %.1f %% of the virtual seconds; %.2f GB, %.0f million events\n"
        "  longest wait while a line worked: %.0f %% of the patience with it\n"
        "  most memory of an episode: %.1f MB, %.0f %% of what its windows allow\n"
        "  resident memory of a process: %.1f MB after its fifth episode, %.1f MB at the end, %.1f MB at most\n",
        get("episodes"), get("failed"), hours, real_seconds, get("several_paths"), get("long_episodes"),
        get("most_lasted") / 3600.0, get("connections"), get("rekeys"), get("faults"),
        100.0 * get("moving_seconds") / std::max(1.0, get("virtual_seconds")), get("bytes") / 1e9, get("events") / 1e6,
        100.0 * get("most_wait"), get("most_memory_bytes") / 1e6, 100.0 * get("most_memory_share"),
        get("most_resident_first") / 1e6, get("most_resident_last") / 1e6, get("most_resident") / 1e6);
    return out;
}

}  // namespace udtx::soak
