// --path as it was typed.
#pragma once

#include <string>
#include <vector>

#include "common/url.hpp"
#include "udtx/address.hpp"
#include "udtx/core/path.hpp"
#include "udtx/path.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

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
    /// What to dial: the paths that were asked for, or else the other side's addresses. `again`: all were there once.
    /// One that is away now is left out; if all are, that is network, which may pass.
    [[nodiscard]] Result<std::vector<proto::PathAddresses>> plan(const std::vector<Address>& addresses,
                                                                 AddressChoice choice, bool again = false) const;
    /// For messages: the hosts and ports that are dialled for `url`, "big.example:7011/udp".
    [[nodiscard]] std::string targets(const Url& url) const;
};

}  // namespace udtx::apps
