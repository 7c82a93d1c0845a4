#include "ssh/ssh_command.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/text.hpp"
#include "ssh/bootstrap_port.hpp"

namespace udtx::apps {
namespace {

/// Characters that need no quotes in a shell.
constexpr auto kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

/// The words of the command up to the host.
std::vector<std::string> beginning(const SshOptions& options) {
    std::vector<std::string> words = options.command;
    if (!options.port_text.empty()) words.insert(words.end(), {"-p", options.port_text});
    if (!options.identity.empty()) words.insert(words.end(), {"-i", options.identity});
    return words;
}

}  // namespace

std::vector<std::string> remote_command(const SshOptions& options, const SshTarget& target, AddressChoice addresses,
                                        const std::string& program) {
    std::string rest = " --bootstrap";
    for (const std::string& word : to_arguments({options.udp_ports, addresses})) rest += ' ' + word;
    return ssh_command(options, target, addresses, remote_line(options, program, rest));
}

std::string remote_name(const SshOptions& options, const std::string& program) {
    if (options.remote_bin.empty()) return program;
    // A settings file has one value for pushes and for pulls.
    const std::string other = program == "udtx-send" ? "udtx-recv" : "udtx-send";
    std::string name;
    for (std::size_t at = 0; at < options.remote_bin.size();) {
        const std::size_t end = std::min(options.remote_bin.find(' ', at), options.remote_bin.size());
        std::string word = options.remote_bin.substr(at, end - at);
        if (word == other || word.ends_with('/' + other))
            word.replace(word.size() - other.size(), other.size(), program);
        name += word;
        if (end < options.remote_bin.size()) name += ' ';
        at = end + 1;
    }
    return name;
}

std::string remote_line(const SshOptions& options, const std::string& program, const std::string& rest) {
    const std::string name = remote_name(options, program);
    // Other values, such as "sudo udtx-recv", are for the remote shell.
    if (name.find_first_not_of(std::string(kPlain) + '~') != std::string::npos) return name + rest;
    // A shell without a login often has no ~/.local/bin in its PATH. `sh`, because the user's shell may be another
    // kind.
    std::string script = "PATH=\"$PATH:$HOME/.local/bin:/usr/local/bin\"; ";
    if (name == program) return "sh -c " + quoted_for_shell(script + "exec " + program + rest);
    script += "p=" + name + "; if [ -d \"$p\" ]; then p=\"$p/" + program + "\"; ";
    script += "elif ! command -v \"$p\" >/dev/null && command -v \"$p" + program.substr(4) + "\" >/dev/null; ";
    script += "then p=\"$p" + program.substr(4) + "\"; fi; exec \"$p\"";
    return "sh -c " + quoted_for_shell(script + rest);
}

std::string not_found(const SshOptions& options, const SshTarget& target, const std::string& program) {
    const std::string where =
        options.remote_bin.empty() ? ", neither in PATH nor in ~/.local/bin or /usr/local/bin" : "";
    return remote_name(options, program) + ": not found on " + target.host + where +
           "; install it or name it with --remote-bin";
}

std::vector<std::string> ssh_command(const SshOptions& options, const SshTarget& target, AddressChoice addresses,
                                     std::string line) {
    std::vector<std::string> words = beginning(options);
    if (addresses == AddressChoice::v4_only) words.emplace_back("-4");
    if (addresses == AddressChoice::v6_only) words.emplace_back("-6");
    if (options.is_openssh()) {
        // As scp does: turns off settings that the user's configuration has for logins only.
        words.insert(words.end(), {"-x", "-T", "-oClearAllForwardings=yes", "-oPermitLocalCommand=no",
                                   "-oRemoteCommand=none", "-oForwardAgent=no"});
        if (options.patience) {
            const auto whole = std::chrono::ceil<std::chrono::seconds>(*options.patience);
            words.push_back("-oConnectTimeout=" + std::to_string(std::max<std::int64_t>(whole.count(), 1)));
        }
        words.emplace_back("--");
    }
    words.push_back(target.login());
    words.push_back(std::move(line));
    return words;
}

std::string login_command(const SshOptions& options, const SshTarget& target) {
    std::vector<std::string> words = beginning(options);
    words.push_back(target.login());
    std::string line;
    for (const std::string& word : words) {
        const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
        line += (line.empty() ? "" : " ") + (plain ? word : quoted_for_shell(word));
    }
    return line;
}

std::vector<std::string> query_command(const SshOptions& options, const SshTarget& target) {
    std::vector<std::string> words = beginning(options);
    words.insert(words.end(), {"-G", "--", target.login()});
    return words;
}

}  // namespace udtx::apps
