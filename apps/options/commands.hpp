// Command line of udtx-send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "common/log.hpp"
#include "common/process.hpp"
#include "options/common_options.hpp"
#include "options/route_options.hpp"
#include "options/tree_options.hpp"
#include "sandbox/sandbox.hpp"
#include "udtx/resolve.hpp"
#include "udtx/transfer/selection.hpp"

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

// Command line of udtx-recv.

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

// The settings of both tools, because they share their configuration files.

[[nodiscard]] std::vector<std::string> known_settings();

// The objects that one run of a tool uses from its start: command, log, terminal, signals.

struct SendRun {
    const SendCommand& command;
    Log& log;
    Terminal& terminal;
    SignalWaiter& signals;
};

struct RecvRun {
    const RecvCommand& command;
    Log& log;
    Terminal& terminal;
    SignalWaiter& signals;
};

}  // namespace udtx::apps
