// What of this host slows transfers down, and the commands that mend it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "ssh/ssh_options.hpp"
#include "udtx/address.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct Finding {
    bool good = true;
    std::string what;      ///< "UDP buffers: receive 208 KiB, send 208 KiB"
    std::string remedy{};  ///< a command or a piece of advice; empty when all is well
    /// What a transfer would end with: what is merely slow is ok.
    ExitCode code = ExitCode::ok;
};

/// The interface that has an address of this host.
struct LocalLink {
    std::string name;
    unsigned mtu = 0;
};
[[nodiscard]] std::optional<LocalLink> link_of(const Address& local);

/// Socket buffers, offloads, MTU.
[[nodiscard]] std::vector<Finding> examine_network();
/// Timers, clock source, synchronisation.
[[nodiscard]] std::vector<Finding> examine_clock();
/// Writes and reads a temporary file for some seconds at most.
[[nodiscard]] std::vector<Finding> examine_disk(const std::string& directory);
[[nodiscard]] std::vector<Finding> examine_crypto();

struct DoctorCommand {
    std::string directory = ".";
    bool json = false;
    std::string psk_file;
    std::string identity;
    std::string pin;
    std::string rate;
    std::vector<std::string> hosts;  ///< as typed

    std::string host;  ///< for ssh, or HOST:PORT; empty: this host only
    SshOptions ssh;
    std::vector<std::string> for_host;  ///< flags for the probe
};
/// `dials`: the tool can be given a host.
void define_doctor(CLI::App& app, DoctorCommand& command, bool dials);
/// Help text, if that was asked for.
[[nodiscard]] Result<std::optional<std::string>> parse_doctor(std::vector<std::string> arguments, bool dials,
                                                              DoctorCommand& command);
[[nodiscard]] std::vector<Finding> examine_host(const DoctorCommand& command);
/// Of the first that has one.
[[nodiscard]] ExitCode code_of(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_json(const std::vector<Finding>& findings);

}  // namespace udtx::apps
