#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "common/usage.hpp"
#include "options/paths.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kWeight = "weight=";

Error malformed(const std::string& text, const std::string& why) { return usage("--path " + text + ": " + why); }

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (true) {
        const std::size_t comma = text.find(',', at);
        parts.push_back(text.substr(at, comma - at));
        if (comma == std::string::npos) return parts;
        at = comma + 1;
    }
}

std::optional<double> parse_weight(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return std::isfinite(value) && value > 0.0 && value <= 1e6 ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<PathRequest> parse_path(const std::string& text) {
    PathRequest path;
    const auto parts = split(text);
    path.local = parts.front();
    if (path.local.empty()) return malformed(text, "an address or the name of an interface comes first");
    bool weight_seen = false;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i].rfind(kWeight, 0) == 0 && !weight_seen) {
            const auto weight = parse_weight(std::string_view(parts[i]).substr(kWeight.size()));
            if (!weight) return malformed(text, "the weight must be a number above 0, at most 1000000");
            path.weight = *weight;
            weight_seen = true;
        } else if (i == 1 && !parts[i].empty() && parts[i].find('=') == std::string::npos) {
            path.remote = parts[i];
        } else {
            return malformed(text, "'" + parts[i] + "' is not understood; it is LOCAL[,REMOTE][,weight=N]");
        }
    }
    return path;
}

}  // namespace udtx::apps
