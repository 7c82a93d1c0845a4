// Parses --path.
#pragma once

#include <string>
#include <vector>

#include "common/url.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
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
