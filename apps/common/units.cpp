#include "common/units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "common/text.hpp"
#include "udtx/log.hpp"

namespace udtx::apps {
namespace {

Error bad(std::string_view what, std::string_view text, std::string_view remedy) {
    return {ErrorCode::invalid_argument,
            std::string(what) + " '" + std::string(text) + "' is not understood: " + std::string(remedy)};
}

/// Parses digits with at most one point. from_chars for doubles would also accept "inf", "nan" and exponents.
std::optional<double> plain_number(std::string_view text) {
    bool digit = false;
    bool point = false;
    for (const char c : text) {
        if (c == '.' && !point) {
            point = true;
        } else if (c >= '0' && c <= '9') {
            digit = true;
        } else {
            return std::nullopt;
        }
    }
    return digit && text.size() <= 24 ? parse_number<double>(text) : std::nullopt;
}

std::string print(const char* format, double value) {
    std::array<char, 64> buffer{};
    const int n = std::snprintf(buffer.data(), buffer.size(), format, value);
    return n > 0 ? std::string(buffer.data(), static_cast<std::size_t>(n)) : std::string();
}

/// Three significant digits with a decimal prefix: "1.05 G", "943 M", "12.0 k", "7 ".
std::string with_prefix(double value) {
    static constexpr std::array<const char*, 7> kPrefixes{"", "k", "M", "G", "T", "P", "E"};
    std::size_t i = 0;
    while (value >= 999.5 && i + 1 < kPrefixes.size()) {
        value /= 1000.0;
        ++i;
    }
    const char* format = i == 0 || value >= 99.95 ? "%.0f " : value >= 9.995 ? "%.1f " : "%.2f ";
    return print(format, value) + kPrefixes[i];
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Removes `unit` from the end of `text`, unless nothing else is there. Upper case counts as lower case.
bool drop(std::string_view& text, std::string_view unit) {
    if (text.size() <= unit.size()) return false;
    const auto same = [](char a, char b) { return lower(a) == lower(b); };
    if (!std::equal(unit.begin(), unit.end(), text.end() - static_cast<std::ptrdiff_t>(unit.size()), same))
        return false;
    text.remove_suffix(unit.size());
    return true;
}

/// Removes a prefix k, M, G or T from the end of `text`, and returns its factor, a power of `base`; 1 without one.
double drop_prefix(std::string_view& text, double base) {
    constexpr std::string_view kPrefixes = "kmgt";
    const std::size_t power = text.empty() ? std::string_view::npos : kPrefixes.find(lower(text.back()));
    if (power == std::string_view::npos) return 1.0;
    text.remove_suffix(1);
    return std::pow(base, static_cast<double>(power + 1));
}

}  // namespace

Result<Rate> parse_rate(std::string_view text) {
    constexpr std::string_view kRemedy = "give bits per second such as 500M, 1.5G or 64k";
    std::string_view rest = text;
    // Many people read a capital B as bytes. A wrong guess would be a factor of eight.
    if (rest.ends_with("B/s") || rest.ends_with("B/S")) return bad("rate", text, kRemedy);
    for (const std::string_view unit : {"bit/s", "bps", "bit", "b/s"}) {
        if (drop(rest, unit)) break;
    }
    const double scale = drop_prefix(rest, 1000.0);
    const auto number = plain_number(rest);
    if (!number) return bad("rate", text, kRemedy);
    const double bps = *number * scale;
    if (bps < 8000.0 || bps > 1e15) return bad("rate", text, "it must lie between 8k and 1000T bits per second");
    return Rate::bits_per_second(bps);
}

Result<Rate> parse_bwlimit(std::string_view text) {
    constexpr std::string_view kRemedy = "give KiB per second such as 1000, 1.5M (of 1024) or 2MB (of 1000)";
    std::string_view rest = text;
    const bool binary = drop(rest, "iB");
    const bool bytes = !binary && drop(rest, "B");
    const std::size_t size = rest.size();
    const double factor = drop_prefix(rest, bytes ? 1000.0 : 1024.0);
    const bool prefixed = rest.size() < size;
    if (binary && !prefixed) return bad("limit", text, kRemedy);
    const double scale = prefixed || bytes ? factor : 1024.0;
    const auto number = plain_number(rest);
    if (!number) return bad("limit", text, kRemedy);
    if (*number <= 0.0) return Rate::infinite();
    const double bytes_per_second = *number * scale;
    if (bytes_per_second < 1000.0 || bytes_per_second > 1.25e14) {
        return bad("limit", text, "it must lie between 1000 B and 125 TB per second");
    }
    return Rate::bytes_per_second(bytes_per_second);
}

Result<Duration> parse_seconds(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
        {{"min", 60.0}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}}};
    std::string_view rest = text;
    double scale = 1.0;
    for (const auto& [unit, seconds] : kUnits) {
        if (!rest.ends_with(unit)) continue;
        rest.remove_suffix(unit.size());
        scale = seconds;
        break;
    }
    const auto number = plain_number(rest);
    const double seconds = number.value_or(0.0) * scale;
    if (seconds < 0.1 || seconds > 315360000.0)
        return bad("time", text, "give seconds, at least 0.1, or a number with m, h or d");
    return from_seconds(seconds);
}

Result<std::uint32_t> parse_mtu(std::string_view text) {
    // The larger of the two header stacks: IPv6 (40) and UDP (8).
    constexpr std::uint32_t kHeaders = 48;
    constexpr std::uint32_t kLargestPayload = 65000;
    if (text == "auto") return kLargestPayload;
    const std::uint32_t value = parse_number<std::uint32_t>(text).value_or(0);
    if (value < 1280 || value > 65535) return bad("MTU", text, "give 'auto' or a size from 1280 to 65535");
    return std::min(value - kHeaders, kLargestPayload);
}

namespace {

constexpr std::string_view kBetween = " \t\n;";

Error bad_entry(std::string_view entry, const std::string& why) {
    return {ErrorCode::invalid_argument, "'" + std::string(entry) + "': " + why};
}

std::optional<int> parse_minute(std::string_view text) {
    if (text.size() != 5 || text[2] != ':') return std::nullopt;
    const auto hours = parse_number<std::uint8_t>(text.substr(0, 2));
    const auto minutes = parse_number<std::uint8_t>(text.substr(3));
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
        if (!minute || comma == entry.size()) return bad_entry(entry, "give HH:MM,RATE or HH:MM,off");
        const std::string_view rate_text = entry.substr(comma + 1);
        Rate rate = Rate::infinite();
        if (rate_text != "off") {
            const auto rate_of_entry = parse_rate(rate_text);
            if (!rate_of_entry) return rate_of_entry.error();
            rate = *rate_of_entry;
        }
        const auto same = [&](const Entry& other) { return other.minute == *minute; };
        if (std::any_of(schedule.entries_.begin(), schedule.entries_.end(), same)) {
            return bad_entry(entry, "another entry has the same time");
        }
        schedule.entries_.push_back({*minute, rate});
    }
    if (schedule.entries_.empty()) return bad_entry("", "give at least one HH:MM,RATE");
    std::sort(schedule.entries_.begin(), schedule.entries_.end(),
              [](const Entry& a, const Entry& b) { return a.minute < b.minute; });
    return schedule;
}

Rate Schedule::at(int minute) const {
    const auto next = std::upper_bound(entries_.begin(), entries_.end(), minute,
                                       [](int m, const Entry& entry) { return m < entry.minute; });
    return next == entries_.begin() ? entries_.back().rate : std::prev(next)->rate;
}

int minute_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return local.tm_hour * 60 + local.tm_min;
}

std::string format_rate(Rate rate) { return rate.is_infinite() ? "unlimited" : with_prefix(rate.bps()) + "bit/s"; }

std::string format_byte_rate(Rate rate) {
    return rate.is_infinite() ? "unlimited" : with_prefix(rate.bytes_per_second()) + "B/s";
}

std::string describe_rate_cap(Rate rate) {
    if (rate.is_infinite()) return "rate cap: none";
    return "rate cap: " + format_rate(rate) + " (" + format_byte_rate(rate) + ")";
}

std::string format_bytes(std::uint64_t bytes) { return bytes_text(bytes); }

std::string format_count(std::uint64_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t i = digits.size(); i > 3;) {
        i -= 3;
        digits.insert(i, ",");
    }
    return digits;
}

std::string counted(std::uint64_t n, std::string_view one) {
    return format_count(n).append(" ").append(one).append(n == 1 ? "" : "s");
}

std::string format_clock(Duration d) { return clock_text(d); }

std::string format_elapsed(Duration d) { return elapsed_text(d); }

std::string format_milliseconds(Duration d) {
    const double ms = to_seconds(d) * 1e3;
    return print(ms < 9.995 ? "%.2f ms" : ms < 99.95 ? "%.1f ms" : "%.0f ms", ms);
}

}  // namespace udtx::apps
