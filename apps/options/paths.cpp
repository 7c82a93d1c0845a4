#include "options/paths.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "common/usage.hpp"

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
    return std::isfinite(value) && value > 0.0 && value <= kMaxPathWeight ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<PathRequest> parse_path(const std::string& text) {
    PathRequest path;
    const auto parts = split(text);
    path.local = parts.front();
    if (path.local.empty()) return malformed(text, "start with an address or an interface");
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
            return malformed(text, "'" + parts[i] + "' is not understood; use LOCAL[,REMOTE][,weight=N]");
        }
    }
    return path;
}

void PathOptions::add_to(CLI::App& app) {
    const auto group = "Several paths";
    app.add_option("--path", texts, "Use this local address or interface, to REMOTE if given; repeat for several paths")
        ->type_name("LOCAL[,REMOTE][,weight=N]")
        ->allow_extra_args(false)
        ->group(group);
    app.add_option(
           "--multipath", multipath_text,
           "aggregate (default): all paths at the same time; failover: the first path, and the others if it fails")
        ->type_name("aggregate|failover")
        ->group(group);
}

Result<void> PathOptions::check() {
    if (multipath_text != "aggregate" && multipath_text != "failover") {
        return usage("--multipath: '" + multipath_text + "' is unknown; use aggregate or failover");
    }
    if (texts.size() > kMostPaths) {
        return usage("--path: " + std::to_string(texts.size()) + " paths, at most " + std::to_string(kMostPaths) +
                     " are possible");
    }
    for (const std::string& text : texts) {
        auto path = parse_path(text);
        if (!path) return path.error();
        const bool twice = std::any_of(requests.begin(), requests.end(), [&](const PathRequest& other) {
            return other.local == path->local && other.remote == path->remote;
        });
        if (twice) return usage("--path " + text + ": this path is given twice; change LOCAL or REMOTE");
        path->standby = failover() && !requests.empty();
        requests.push_back(std::move(*path));
    }
    if (failover() && requests.size() < 2) return usage("--multipath failover needs at least two --path");
    return {};
}

Result<void> PathOptions::apply(transfer::DialOptions& dial, bool again) const {
    dial.paths = requests;
    dial.skip_absent_paths = again;
    if (requests.empty() || again) return {};
    const auto checked = check_paths(requests, dial.addresses, dial.choice);
    if (!checked) return Error{checked.error().code, "--path " + checked.error().message};
    return {};
}

std::string PathOptions::targets(const Url& url) const {
    std::vector<std::string> all;
    for (const PathRequest& path : requests) {
        Url target = url;
        if (!path.remote.empty()) target.host = path.remote;
        all.push_back(authority(target) + "/udp");
    }
    if (all.empty()) return authority(url) + "/udp";
    std::string text;
    for (auto one = all.begin(); one != all.end(); ++one) {
        if (std::find(all.begin(), one, *one) == one) text += (text.empty() ? "" : ", ") + *one;
    }
    return text;
}

}  // namespace udtx::apps
