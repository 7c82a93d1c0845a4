#include "options/route_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"

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

void SshOptions::add_to(CLI::App& app) {
    add_login_to(app);
    app.add_option("-O,--udp-port", udp_port_text, "UDP port of the other end, or a range (60000-60010); default: any")
        ->type_name("PORT[-PORT]")
        ->group("Over ssh");
}

void SshOptions::add_login_to(CLI::App& app) {
    const auto group = "Over ssh";
    app.add_option("-P,--ssh-port", port_text, "Port of the ssh server")->type_name("PORT")->group(group);
    app.add_option("-i,--ssh-identity", identity, "Private key for ssh (its -i)")->type_name("FILE")->group(group);
    app.add_option("--ssh", command_text, "Command in place of 'ssh', with its flags")->type_name("CMD")->group(group);
    app.add_option(
           "--remote-bin", remote_bin,
           "Program on the other machine or its directory, if it is not in PATH, ~/.local/bin or /usr/local/bin")
        ->type_name("PATH")
        ->group(group);
}

Result<void> SshOptions::check() {
    if (!port_text.empty()) {
        const auto port = parse_port_range(port_text);
        if (!port || port->first != port->last)
            return usage("--ssh-port: '" + port_text +
                         "' is not a port from 1 to 65535 (-P is the port of ssh; for -P of rsync leave it out)");
    }
    if (!udp_port_text.empty()) {
        const auto ports = parse_port_range(udp_port_text);
        if (!ports) return usage("--udp-port: " + ports.error().message);
        udp_ports = *ports;
    }
    auto words = split_command(command_text);
    if (!words) return words.error();
    command = std::move(*words);
    return {};
}

std::vector<std::string> SshOptions::as_flags() const {
    std::vector<std::string> flags;
    const auto add = [&flags](const char* flag, const std::string& value, const std::string& usual = {}) {
        if (value != usual) flags.insert(flags.end(), {flag, value});
    };
    add("--ssh-port", port_text);
    add("--ssh-identity", identity);
    add("--ssh", command_text, SshOptions().command_text);
    add("--remote-bin", remote_bin);
    add("--udp-port", udp_port_text);
    return flags;
}

std::optional<std::string> SshOptions::typed(const Origins& origins) const {
    const std::array<std::pair<const char*, bool>, 5> flags{{{"--ssh-port", !port_text.empty()},
                                                             {"--ssh-identity", !identity.empty()},
                                                             {"--ssh", command_text != SshOptions().command_text},
                                                             {"--remote-bin", !remote_bin.empty()},
                                                             {"--udp-port", !udp_port_text.empty()}}};
    for (const auto& [flag, set] : flags) {
        if (set && !origins.has(flag)) return flag;
    }
    return std::nullopt;
}

bool SshOptions::is_openssh() const {
    const std::string& program = command.front();
    return program.substr(program.rfind('/') + 1) == "ssh";
}

Result<std::vector<std::string>> split_command(const std::string& text) {
    std::vector<std::string> words;
    std::optional<std::string> word;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            word = word.value_or("") + text[++i];
        } else if (quote != 0 && c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
            word = word.value_or("");
        } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
            if (word) words.push_back(*std::exchange(word, std::nullopt));
        } else {
            word = word.value_or("") + c;
        }
    }
    if (quote != 0) return usage("--ssh: a quote is not closed in: " + text);
    if (word) words.push_back(std::move(*word));
    if (words.empty()) return usage("--ssh: the command is empty");
    return words;
}

}  // namespace udtx::apps
