// --path as it was typed.
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

/// Most --path options.
inline constexpr std::size_t kMostPaths = 8;

/// "LOCAL[,REMOTE][,weight=N]"
[[nodiscard]] Result<PathRequest> parse_path(const std::string& text);

/// Over which ways the side that dials reaches the other.
struct PathOptions {
    // As typed; check() turns them into what follows.
    std::vector<std::string> texts;
    std::string multipath_text = "aggregate";

    std::vector<PathRequest> requests;

    void add_to(CLI::App& app);
    Result<void> check();
    /// One path carries all while it works.
    [[nodiscard]] bool failover() const { return multipath_text == "failover"; }
    /// Puts them into `dial`, whose addresses are those of the peer. `again`: all were there once, and one that is away
    /// now is left out.
    [[nodiscard]] Result<void> apply(transfer::DialOptions& dial, bool again = false) const;
    /// For messages: the hosts and ports that are dialled for `url`, "big.example:7011/udp".
    [[nodiscard]] std::string targets(const Url& url) const;
};

}  // namespace udtx::apps
