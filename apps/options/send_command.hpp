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
    std::string pin;                   ///< a public key, or a file of them
    std::vector<std::string> sources;  ///< as typed
    PathOptions paths;
    std::string reinject_text = "on";
    std::string coupling_text = "detect";
    bool probe_only = false;
    std::string scheduler = TransportConfig().scheduler;

    SshOptions ssh;

    std::optional<SshTarget> remote;  ///< started over ssh
    Url url;                          ///< without `remote`

    [[nodiscard]] TransportConfig transport() const;
    /// The name of the controller that runs.
    [[nodiscard]] std::string congestion_in_use() const;
    /// There is, or may be, something to continue.
    [[nodiscard]] bool resumable() const { return !common.no_resume && !streaming(); }
    [[nodiscard]] bool streaming() const { return sources.size() == 1 && sources[0] == "-"; }
};

/// The flags and arguments, bound to `command`.
void define_options(CLI::App& app, SendCommand& command);
/// Fills `command`; also on errors as far as it got, so that the caller knows whether --json was given.
Result<EarlyText> parse_send_command(const std::vector<std::string>& arguments, SendCommand& command);

}  // namespace udtx::apps
