// The first words that make other programs of the tools, with the flags of each: keygen, plan,
// verify, receipt, clean, doctor, ctl.
// Arguments are those after the word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "options/ssh_options.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// `udtx-send keygen [--identity] FILE`, without the first word.
struct KeygenCommand {
    bool identity = false;
    std::vector<std::string> files;  ///< as typed

    std::string file;
};
void define_keygen(CLI::App& app, KeygenCommand& command);
Result<EarlyText> parse_keygen_command(std::vector<std::string> arguments, KeygenCommand& command);

/// `udtx-send plan -N COUNT SRC...`, without the first word.
struct PlanCommand {
    std::size_t shards = 0;
    std::vector<std::string> sources;
};
void define_plan(CLI::App& app, PlanCommand& command);
Result<EarlyText> parse_plan_command(std::vector<std::string> arguments, PlanCommand& command);

/// `udtx-recv verify RECEIPT DIR`, without the first word.
struct VerifyCommand {
    bool json = false;
    std::vector<std::string> names;  ///< as typed

    std::string repair_list;  ///< where the names of what differs go
    std::string receipt;
    std::string directory;
};
void define_verify(CLI::App& app, VerifyCommand& command);
Result<EarlyText> parse_verify_command(std::vector<std::string> arguments, VerifyCommand& command);

/// `udtx-recv receipt merge OUT IN...`, without the first word.
struct ReceiptCommand {
    std::vector<std::string> words;  ///< as typed

    std::string output;
    std::vector<std::string> inputs;
};
void define_receipt(CLI::App& app, ReceiptCommand& command);
Result<EarlyText> parse_receipt_command(std::vector<std::string> arguments, ReceiptCommand& command);

/// `udtx-recv clean DIR`, without the first word.
struct CleanCommand {
    bool dry_run = false;
    bool json = false;
    std::uint64_t older_than = 0;    ///< days
    std::vector<std::string> names;  ///< as typed
};
void define_clean(CLI::App& app, CleanCommand& command);
Result<EarlyText> parse_clean_command(std::vector<std::string> arguments, CleanCommand& command);

/// `doctor [HOST]` of either tool, without the first word.
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

/// `ctl [PID|SOCKET COMMAND...]` of either tool, without the first word.
struct CtlCommand {
    bool json = false;
    std::vector<std::string> words;
};
/// `tool`: whose subcommand it is; both have it.
void define_ctl(CLI::App& app, CtlCommand& command, const std::string& tool);

/// keygen, plan, doctor, ctl.
[[nodiscard]] Subcommands subcommands_of_send();
/// verify, clean, doctor, ctl.
[[nodiscard]] Subcommands subcommands_of_recv();

}  // namespace udtx::apps
