#include "ssh/ssh_command.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/text.hpp"
#include "ssh/bootstrap_port.hpp"

namespace udtx::apps {
namespace {

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
    // The program is not quoted, because "~/bin/udtx-recv" and "sudo udtx-recv" are for the remote shell.
    std::string line = (options.remote_bin.empty() ? program : options.remote_bin) + " --bootstrap";
    for (const std::string& word : to_arguments({options.udp_ports, addresses})) line += ' ' + word;
    return ssh_command(options, target, addresses, std::move(line));
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
    constexpr auto kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
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
