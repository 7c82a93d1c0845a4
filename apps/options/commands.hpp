// The command lines of udtx-send and udtx-recv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "options/common_options.hpp"
#include "options/tree_options.hpp"
#include "rendezvous/code.hpp"
#include "sandbox/sandbox.hpp"
#include "udtx/congestion.hpp"

namespace udtx::apps {

class Flags;

/// What a push and a fetch share.
struct TransferCommand {
    CommonOptions common;
    TreeOptions tree;
    std::string pin;  ///< a public key of the other end, or a file with public keys
    PathOptions paths;
    CarrierFlags carriers;
    SshOptions ssh;
    RendezvousFlags rendezvous;
    bool by_code = false;  ///< the other end comes with a code, or was told one

    std::vector<std::string> sources;  ///< a push: as typed; a fetch: paths on the other host
    std::optional<SshTarget> remote;   ///< the other side is started there over ssh
    Url url;                           ///< the server, if `remote` is empty and there is no code
    bool streaming = false;            ///< "-" is the source of a push, or the destination of a receiver

    /// True if the same command continues an aborted transfer.
    [[nodiscard]] bool resumable() const { return !common.no_resume && !streaming; }
    /// The other end, for messages.
    [[nodiscard]] std::string peer() const {
        if (by_code) return "the other end";
        return remote ? remote->host : authority(url);
    }

  protected:
    /// Checks the flags of trees and shards, and applies those that change others. Reads the files that they name.
    Result<void> check_tree(const Flags& flags);
};

struct SendCommand : TransferCommand {
    bool reinject = true;
    Coupling coupling = Coupling::detect;
    bool probe_only = false;
    std::string scheduler = TransportConfig().scheduler;

    [[nodiscard]] TransportConfig transport() const;
    /// The name of the controller in use.
    [[nodiscard]] std::string congestion_in_use() const;

    void define(Flags& flags);
    Result<void> check(const Flags& flags);

  private:
    Result<void> take_destination(const Flags& flags);
    Result<void> check_sources(const std::string& after);
    [[nodiscard]] Result<void> check_name_of_stream() const;
};

struct RecvCommand : TransferCommand {
    std::string listen;
    int inherited_socket = -1;  ///< --listen fd:N
    std::string directory;
    std::string authorized_keys;
    std::vector<std::string> targets;  ///< as typed
    Rate max_rate = Rate::infinite();
    bool one_off = false;
    bool allow_delete = false;
    bool allow_set_id = false;
    bool allow_read = false;
    std::vector<std::string> tcp_listen{};  ///< of --tcp-listen, as typed
    std::uint64_t min_free = 0;             ///< bytes of the disk to keep free
    std::size_t protocol_threads = 1;
    std::optional<Duration> longest_drain;  ///< --drain
    bool log_files = false;
    SandboxMode sandbox = SandboxMode::automatic;
    std::string destination;  ///< of a fetch

    std::optional<Code> code;  ///< of --code
    bool relay = false;        ///< no files: two ends meet here (rendezvous/relay.hpp)
    std::optional<Rate> relay_rate;
    std::optional<std::size_t> relay_sessions;
    std::optional<Duration> relay_time;

    /// False: this side listens, and others connect to send or fetch.
    [[nodiscard]] bool pulls() const { return !sources.empty(); }
    /// A fetch over ssh: the flags for the sender.
    [[nodiscard]] std::vector<std::string> for_sender() const;

    void define(Flags& flags);
    Result<void> check(const Flags& flags);

  private:
    Result<void> take_sources(const Flags& flags);
    Result<void> check_server(const Flags& flags);
    Result<void> check_relay(const Flags& flags);
    Result<void> take_code(const Flags& flags);
};

/// Fills `command`. After an error it holds what was parsed before, so the caller knows whether --json was given.
Result<EarlyText> parse_send_command(const std::vector<std::string>& arguments, SendCommand& command);
Result<EarlyText> parse_recv_command(const std::vector<std::string>& arguments, RecvCommand& command);

/// The settings of both tools, because they share their configuration files.
[[nodiscard]] std::vector<std::string> known_settings();

/// `command`: "udtx-send", "udtx-recv verify" and so on, as CLI::App::get_name() gives it.
[[nodiscard]] Manual manual_of(std::string_view command);

}  // namespace udtx::apps
