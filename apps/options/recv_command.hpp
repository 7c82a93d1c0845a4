// Command line of udtx-recv.
#pragma once

#include <cstdint>
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
#include "sandbox/sandbox.hpp"
#include "udtx/resolve.hpp"
#include "udtx/transfer/selection.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct RecvCommand {
    CommonOptions common;
    std::string listen_text;
    std::string directory;
    std::string authorized_keys;
    std::vector<std::string> targets;  ///< as typed
    std::string max_rate_text;
    bool one_off = false;
    bool to_stdout = false;  ///< "-"
    SshOptions ssh;
    bool allow_delete = false;
    bool allow_set_id = false;
    bool allow_read = false;
    std::uint64_t min_free = 0;  ///< bytes of the disk that stay free
    std::size_t protocol_threads = 1;
    std::string sandbox_text = "auto";
    std::string pin;    ///< of a pull from a server: its public key, or a file of them
    PathOptions paths;  ///< likewise
    TreeOptions tree;   ///< of a pull

    HostPort listen;
    int inherited_socket = -1;  ///< --listen fd:N
    SandboxMode sandbox = SandboxMode::automatic;
    Rate max_rate = Rate::infinite();
    transfer::Overwrite overwrite = transfer::Overwrite::always;  ///< the stricter of this and the sender's
    std::vector<SshTarget> sources;                               ///< of a pull over ssh, all on one host
    std::optional<Url> server;                                    ///< of a pull from a server
    std::vector<std::string> server_paths;                        ///< what is asked for there
    std::string destination;                                      ///< of a pull

    /// Else others come, and send or fetch.
    [[nodiscard]] bool pulls() const { return server || !sources.empty(); }
    /// Over ssh: the flags of a pull that are for the sender.
    [[nodiscard]] std::vector<std::string> for_sender() const;
    /// What is asked for. Over ssh the sources are told in another way.
    [[nodiscard]] transfer::Selection selection() const;
};

/// The flags and arguments, bound to `command`.
void define_options(CLI::App& app, RecvCommand& command);
/// Fills `command`; also on errors as far as it got.
Result<EarlyText> parse_recv_command(const std::vector<std::string>& arguments, RecvCommand& command);

}  // namespace udtx::apps
