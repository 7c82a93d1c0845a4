#include "options/rate_options.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "common/units.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kBetween = " \t\n;";

Error bad(std::string_view entry, const std::string& why) {
    return {ErrorCode::invalid_argument, "'" + std::string(entry) + "': " + why};
}

std::optional<int> two_digits(std::string_view text) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.size() != 2 || !digit(text[0]) || !digit(text[1])) return std::nullopt;
    return (text[0] - '0') * 10 + (text[1] - '0');
}

std::optional<int> parse_minute(std::string_view text) {
    if (text.size() != 5 || text[2] != ':') return std::nullopt;
    const auto hours = two_digits(text.substr(0, 2));
    const auto minutes = two_digits(text.substr(3));
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    return *hours * 60 + *minutes;
}

}  // namespace

Result<Schedule> Schedule::parse(std::string_view text) {
    Schedule schedule;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
        if (text.empty()) break;
        const std::string_view entry = text.substr(0, text.find_first_of(kBetween));
        text.remove_prefix(entry.size());
        const std::size_t comma = std::min(entry.find(','), entry.size());
        const auto minute = parse_minute(entry.substr(0, comma));
        if (!minute || comma == entry.size()) return bad(entry, "give HH:MM,RATE or HH:MM,off");
        const std::string_view rate_text = entry.substr(comma + 1);
        Rate rate = Rate::infinite();
        if (rate_text != "off") {
            const auto rate_of_entry = parse_rate(rate_text);
            if (!rate_of_entry) return rate_of_entry.error();
            rate = *rate_of_entry;
        }
        const auto same = [&](const Entry& other) { return other.minute == *minute; };
        if (std::any_of(schedule.entries_.begin(), schedule.entries_.end(), same)) {
            return bad(entry, "another entry has the same time");
        }
        schedule.entries_.push_back({*minute, rate});
    }
    if (schedule.entries_.empty()) return bad("", "give at least one HH:MM,RATE");
    std::sort(schedule.entries_.begin(), schedule.entries_.end(),
              [](const Entry& a, const Entry& b) { return a.minute < b.minute; });
    return schedule;
}

Rate Schedule::at(int minute) const {
    const auto next = std::upper_bound(entries_.begin(), entries_.end(), minute,
                                       [](int m, const Entry& entry) { return m < entry.minute; });
    return next == entries_.begin() ? entries_.back().rate : std::prev(next)->rate;
}

bool Schedule::ever_off() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.rate.is_infinite(); });
}

int minute_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return local.tm_hour * 60 + local.tm_min;
}

namespace {

Error wrong(const char* flag, const Error& error) { return {error.code, std::string(flag) + ": " + error.message}; }

}  // namespace

void RateOptions::add_to(CLI::App& app, const std::string& group) {
    app.add_option("--bwlimit", bwlimit_text,
                   "--rate in the units of rsync: KiB per second, or 1.5M (of 1024), 2MB (of 1000)")
        ->type_name("RATE")
        ->group(group);
    app.add_option("--schedule", schedule_text, "Maximum rates by local time of day: \"08:00,512M 18:00,off\"")
        ->type_name("TIMES")
        ->group(group);
    app.add_option("--host-rate", host_rate_text,
                   "Maximum rate of all transfers of this user with this flag, in equal shares")
        ->type_name("RATE")
        ->group(group);
}

Result<void> RateOptions::check() {
    if (!bwlimit_text.empty()) {
        const auto parsed = parse_bwlimit(bwlimit_text);
        if (!parsed) return wrong("--bwlimit", parsed.error());
        bwlimit = *parsed;
    }
    if (!schedule_text.empty()) {
        auto parsed = Schedule::parse(schedule_text);
        if (!parsed) return wrong("--schedule", parsed.error());
        schedule = std::move(*parsed);
    }
    if (!host_rate_text.empty()) {
        const auto parsed = parse_rate(host_rate_text);
        if (!parsed) return wrong("--host-rate", parsed.error());
        host_rate = *parsed;
    }
    return {};
}

}  // namespace udtx::apps
