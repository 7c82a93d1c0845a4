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
    bool to_stdout = false;  ///< the destination is "-"
    SshOptions ssh;
    bool allow_delete = false;
    bool allow_set_id = false;
    bool allow_read = false;
    std::uint64_t min_free = 0;  ///< bytes of the disk to keep free
    std::size_t protocol_threads = 1;
    std::string drain_text;
    bool log_files = false;
    std::string sandbox_text = "auto";
    std::string pin;    ///< of a pull from a server: its public key, or a file with public keys
    PathOptions paths;  ///< of a pull from a server
    TreeOptions tree;   ///< of a pull

    HostPort listen;
    int inherited_socket = -1;              ///< --listen fd:N
    std::optional<Duration> longest_drain;  ///< --drain
    SandboxMode sandbox = SandboxMode::automatic;
    Rate max_rate = Rate::infinite();
    /// This side's value. The stricter of it and the sender's applies.
    transfer::Overwrite overwrite = transfer::Overwrite::always;
    std::vector<SshTarget> sources;         ///< of a pull over ssh; all on one host
    std::optional<Url> server;              ///< of a pull from a server
    std::vector<std::string> server_paths;  ///< paths that a pull requests from the server
    std::string destination;                ///< of a pull

    /// False: this side listens, and others connect to send or fetch.
    [[nodiscard]] bool pulls() const { return server || !sources.empty(); }
    /// A pull over ssh: the flags for the sender.
    [[nodiscard]] std::vector<std::string> for_sender() const;
    /// What a pull requests. Over ssh the sources are passed in another way.
    [[nodiscard]] transfer::Selection selection() const;
};

/// Defines the flags and arguments, bound to `command`.
void define_options(CLI::App& app, RecvCommand& command);
/// Fills `command`. After an error it holds what was parsed before.
Result<EarlyText> parse_recv_command(const std::vector<std::string>& arguments, RecvCommand& command);

}  // namespace udtx::apps
