// Parses --path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/transfer.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// The largest number of --path options.
inline constexpr std::size_t kMostPaths = 8;

/// Parses "LOCAL[,REMOTE][,weight=N]".
[[nodiscard]] Result<PathRequest> parse_path(const std::string& text);

/// The paths from the side that connects to the other side.
struct PathOptions {
    // As typed. check() converts them to the members below.
    std::vector<std::string> texts;
    std::string multipath_text = "aggregate";

    std::vector<PathRequest> requests;

    void add_to(CLI::App& app);
    Result<void> check();
    /// True: one path carries all data while it works.
    [[nodiscard]] bool failover() const { return multipath_text == "failover"; }
    /// Adds the paths to the options of a connection, whose addresses are the peer's. `again`: all paths existed at an
    /// earlier connection, so one that is missing now is left out.
    [[nodiscard]] Result<void> apply(transfer::DialOptions& dial, bool again = false) const;
    /// For messages: the hosts and ports to connect to for `url`, "big.example:7011/udp".
    [[nodiscard]] std::string targets(const Url& url) const;
};

}  // namespace udtx::apps

// The ssh flags: how the other side is started.

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
