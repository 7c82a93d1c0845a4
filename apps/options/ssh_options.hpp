// The ssh flags: how the other side is started.
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
    // As typed. check() converts them to the members below.
    std::string port_text;
    std::string identity;
    std::string command_text = "ssh";
    std::string remote_bin;  ///< empty: the program's own name
    std::string udp_port_text;

    std::vector<std::string> command;  ///< --ssh, split into words
    PortRange udp_ports;
    /// --timeout: limits the time in which ssh reaches the host and agrees on keys, without the password prompt.
    std::optional<Duration> patience;

    void add_to(CLI::App& app);
    /// Adds only the flags for the login and for the program on the other side.
    void add_login_to(CLI::App& app);
    Result<void> check();
    /// The flags that give the same options.
    [[nodiscard]] std::vector<std::string> as_flags() const;
    /// The first flag that was typed; flags from files do not count.
    [[nodiscard]] std::optional<std::string> typed(const Origins& origins) const;
    /// True if --ssh is OpenSSH's client, judged by its name.
    [[nodiscard]] bool is_openssh() const;
};

/// Splits into words at white space. Quotes and backslashes work as in a shell; all other characters are literal.
Result<std::vector<std::string>> split_command(const std::string& text);

}  // namespace udtx::apps
