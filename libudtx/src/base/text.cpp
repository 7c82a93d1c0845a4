#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "udtx/log.hpp"

namespace udtx {
namespace {

std::string decimal(double value, int places) {
    std::array<char, 64> buffer{};
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, places);
    return {buffer.data(), end.ptr};
}

std::string two_digits(std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); }

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
    static constexpr std::array<const char*, 7> kUnits{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    auto value = static_cast<double>(bytes);
    std::size_t i = 0;
    for (; value >= 999.5 && i + 1 < kUnits.size(); ++i) value /= 1000.0;
    const int places = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return decimal(value, places) + ' ' + kUnits[i];
}

std::string clock_text(Duration duration) {
    const auto s = static_cast<std::uint64_t>(std::max(0.0, std::round(to_seconds(duration))));
    if (s >= 86400) return std::to_string(s / 86400) + "d " + two_digits(s / 3600 % 24) + 'h';
    const std::string end = ':' + two_digits(s % 60);
    if (s >= 3600) return std::to_string(s / 3600) + ':' + two_digits(s / 60 % 60) + end;
    return std::to_string(s / 60) + end;
}

std::string elapsed_text(Duration duration) {
    const double s = to_seconds(duration);
    if (s >= 59.95) return clock_text(duration);
    return decimal(s, s < 9.995 ? 2 : 1) + " s";
}

}  // namespace udtx
