// The subcommands of the tools, chosen by the first word, with their flags: keygen, plan, verify, receipt, clean,
// doctor, ctl. The parsers get the arguments after that word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "options/route_options.hpp"
#include "options/tree_options.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// `udtx-send keygen [--identity] FILE`
struct KeygenCommand {
    bool identity = false;
    std::vector<std::string> files;  ///< as typed

    std::string file;
};
void define_keygen(CLI::App& app, KeygenCommand& command);
Result<EarlyText> parse_keygen_command(std::vector<std::string> arguments, KeygenCommand& command);

/// `udtx-send plan -N COUNT SRC...`
struct PlanCommand {
    std::size_t shards = 0;
    TreeOptions tree;  ///< only what selects
    std::vector<std::string> sources;
};
void define_plan(CLI::App& app, PlanCommand& command);
Result<EarlyText> parse_plan_command(std::vector<std::string> arguments, PlanCommand& command);

/// `udtx-recv verify RECEIPT DIR`
struct VerifyCommand {
    bool json = false;
    std::vector<std::string> names;  ///< as typed

    std::string repair_list;  ///< file for the names of differing entries
    std::string receipt;
    std::string directory;
};
void define_verify(CLI::App& app, VerifyCommand& command);
Result<EarlyText> parse_verify_command(std::vector<std::string> arguments, VerifyCommand& command);

/// `udtx-recv receipt merge OUT IN...`
struct ReceiptCommand {
    std::vector<std::string> words;  ///< as typed

    std::string output;
    std::vector<std::string> inputs;
};
void define_receipt(CLI::App& app, ReceiptCommand& command);
Result<EarlyText> parse_receipt_command(std::vector<std::string> arguments, ReceiptCommand& command);

/// `udtx-recv clean DIR`
struct CleanCommand {
    bool jobs = false;  ///< also those that wait for shards
    bool dry_run = false;
    bool json = false;
    std::uint64_t older_than = 0;    ///< days
    std::vector<std::string> names;  ///< as typed
};
void define_clean(CLI::App& app, CleanCommand& command);
Result<EarlyText> parse_clean_command(std::vector<std::string> arguments, CleanCommand& command);

/// `doctor [HOST]` of either tool
struct DoctorCommand {
    std::string directory = ".";
    bool json = false;
    std::string psk_file;
    std::string identity;
    std::string pin;
    std::string rate;
    std::vector<std::string> hosts;  ///< as typed

    std::string host;  ///< host name for ssh, or HOST:PORT of a receiver; empty: this host only
    SshOptions ssh;
    std::vector<std::string> for_host;  ///< flags for the probe of the host
};
/// The last parameter says whether the tool accepts a host.
void define_doctor(CLI::App& app, DoctorCommand& command, bool dials);
/// Returns the help text if the user asked for it.
[[nodiscard]] Result<std::optional<std::string>> parse_doctor(std::vector<std::string> arguments, bool dials,
                                                              DoctorCommand& command);

/// `ctl [PID|SOCKET COMMAND...]` of either tool
struct CtlCommand {
    bool json = false;
    std::vector<std::string> words;
};
/// `tool` is the name of the tool; both have this subcommand.
void define_ctl(CLI::App& app, CtlCommand& command, const std::string& tool);

/// Subcommands of udtx-send: keygen, plan, doctor, ctl.
[[nodiscard]] Subcommands subcommands_of_send();
/// Subcommands of udtx-recv: verify, receipt, clean, doctor, ctl.
[[nodiscard]] Subcommands subcommands_of_recv();

}  // namespace udtx::apps
