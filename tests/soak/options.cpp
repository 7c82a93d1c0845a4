#include "soak/options.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

namespace udtx::soak {
namespace {

template <class T>
bool parse(std::string_view text, T& out) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv, std::string& error) {
    constexpr double kMostHours = 100'000.0;
    constexpr unsigned kMostJobs = 256;
    Options out;
    bool seed_given = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name != "--hours" && name != "--seed" && name != "--jobs") {
            error = "unknown option '" + std::string(name) + "' (--hours H, --seed FIRST, --jobs N)";
            return std::nullopt;
        }
        const std::string_view value = ++i < argc ? argv[i] : "";
        if (name == "--hours") {
            double hours = 0.0;
            const bool good = parse(value, hours) && hours > 0.0 && hours <= kMostHours;
            if (!good)
                error = "--hours takes virtual hours, above 0 and at most 100000, not '" + std::string(value) + "'";
            out.hours = hours;
        } else if (name == "--seed") {
            seed_given = true;
            if (!parse(value, out.seed)) error = "--seed takes a whole number, not '" + std::string(value) + "'";
        } else if (!parse(value, out.jobs) || out.jobs == 0 || out.jobs > kMostJobs) {
            error = "--jobs takes a number of processes from 1 to 256, not '" + std::string(value) + "'";
        }
        if (!error.empty()) return std::nullopt;
    }
    if (!out.hours && !seed_given) {
        error = "--hours H says how long, or --seed N which episode to run again";
        return std::nullopt;
    }
    return out;
}

}  // namespace udtx::soak
