// How the other side is started: the flags for ssh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/origins.hpp"
#include "common/port_range.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct SshOptions {
    // As typed; check() turns them into what follows.
    std::string port_text;
    std::string identity;
    std::string command_text = "ssh";
    std::string remote_bin;  ///< empty: the program's own name
    std::string udp_port_text;

    std::vector<std::string> command;  ///< of --ssh, taken apart
    PortRange udp_ports;
    std::optional<Duration> patience;  ///< --timeout: for ssh to reach the host and agree on keys, not for a password

    void add_to(CLI::App& app);
    /// What says how to log in, and which program there is meant.
    void add_login_to(CLI::App& app);
    Result<void> check();
    /// The command line that says the same.
    [[nodiscard]] std::vector<std::string> as_flags() const;
    /// The first of the flags that was typed, and not set by a file.
    [[nodiscard]] std::optional<std::string> typed(const Origins& origins) const;
    /// Is --ssh OpenSSH's client, as far as its name tells?
    [[nodiscard]] bool is_openssh() const;
};

/// Into words at white space; quotes and backslashes as in a shell, nothing else is special.
Result<std::vector<std::string>> split_command(const std::string& text);

}  // namespace udtx::apps
