#include "options/ssh_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "common/usage.hpp"

namespace udtx::apps {
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
