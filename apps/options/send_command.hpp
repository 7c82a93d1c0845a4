// Command line of udtx-send.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/ssh_target.hpp"
#include "common/url.hpp"
#include "options/common_options.hpp"
#include "options/paths.hpp"
#include "options/ssh_options.hpp"
#include "options/tree_options.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct SendCommand {
    CommonOptions common;
    TreeOptions tree;
    std::string pin;                   ///< a public key, or a file with public keys
    std::vector<std::string> sources;  ///< as typed
    PathOptions paths;
    std::string reinject_text = "on";
    std::string coupling_text = "detect";
    bool probe_only = false;
    std::string scheduler = TransportConfig().scheduler;

    SshOptions ssh;

    std::optional<SshTarget> remote;  ///< the other side is started there over ssh
    Url url;                          ///< used if `remote` is empty

    [[nodiscard]] TransportConfig transport() const;
    /// The name of the controller in use.
    [[nodiscard]] std::string congestion_in_use() const;
    /// True if an interrupted transfer can continue.
    [[nodiscard]] bool resumable() const { return !common.no_resume && !streaming(); }
    [[nodiscard]] bool streaming() const { return sources.size() == 1 && sources[0] == "-"; }
};

/// Defines the flags and arguments, bound to `command`.
void define_options(CLI::App& app, SendCommand& command);
/// Fills `command`. After an error it holds what was parsed before, so the caller knows whether --json was given.
Result<EarlyText> parse_send_command(const std::vector<std::string>& arguments, SendCommand& command);

}  // namespace udtx::apps
