// Command line of udtx-recv.
#pragma once

#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/common_options.hpp"
#include "common/ssh_options.hpp"
#include "common/ssh_target.hpp"
#include "io/resolve.hpp"
#include "transfer/messages.hpp"

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
    std::string overwrite_text = "always";

    io::HostPort listen;
    int inherited_socket = -1;  ///< --listen fd:N
    Rate max_rate = Rate::infinite();
    transfer::Overwrite overwrite = transfer::Overwrite::always;  ///< the stricter of this and the sender's
    std::vector<SshTarget> sources;  ///< of a pull, all on one host; empty: others come and send
    std::string destination;         ///< of a pull

    [[nodiscard]] bool pulls() const { return !sources.empty(); }
    /// The flags of a pull that are for the sender.
    [[nodiscard]] std::vector<std::string> for_sender() const;
};

/// The flags and arguments, bound to `command`.
void define_options(CLI::App& app, RecvCommand& command);
/// Fills `command`; also on errors as far as it got.
Result<EarlyText> parse_recv_command(std::vector<std::string> arguments, RecvCommand& command);

}  // namespace udtx::apps
