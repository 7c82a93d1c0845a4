// The subcommands of the tools, chosen by the first word, with their flags: keygen, plan, verify, receipt, clean,
// doctor, ctl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "options/common_options.hpp"
#include "options/flags.hpp"
#include "options/tree_options.hpp"

namespace udtx::apps {

class Subcommand {
  public:
    virtual ~Subcommand() = default;
    Subcommand(const Subcommand&) = delete;
    Subcommand& operator=(const Subcommand&) = delete;

    /// `arguments`: those after the word. Returns a text that the user asked for.
    [[nodiscard]] Result<EarlyText> parse(std::vector<std::string> arguments);
    [[nodiscard]] const CLI::App& app() const noexcept { return app_; }

    bool json = false;
    std::vector<std::string> words;  ///< that belong to no flag

  protected:
    /// `name` includes that of the tool.
    Subcommand(const std::string& name, const char* description);
    /// `misuse` is the error for another number of words.
    void expect_words(std::size_t count, const char* misuse) {
        count_ = count;
        misuse_ = misuse;
    }
    virtual Result<void> check();

    CLI::App app_;
    Flags flags_{app_};

  private:
    std::optional<std::size_t> count_;  // of words
    std::string misuse_;
};

/// `udtx-send keygen [--identity] FILE`
struct KeygenCommand : Subcommand {
    KeygenCommand();
    bool identity = false;
};

/// `udtx-send plan -N COUNT SRC...`
struct PlanCommand : Subcommand {
    PlanCommand();
    std::size_t shards = 0;
    TreeOptions tree;  ///< only what selects

  private:
    Result<void> check() override;
};

/// `udtx-recv verify RECEIPT DIR`
struct VerifyCommand : Subcommand {
    VerifyCommand();
    std::string repair_list;  ///< file for the names of differing entries
};

/// `udtx-recv receipt merge OUT IN...`
struct ReceiptCommand : Subcommand {
    ReceiptCommand();

  private:
    Result<void> check() override;
};

/// `udtx-recv clean DIR`
struct CleanCommand : Subcommand {
    CleanCommand();
    bool jobs = false;  ///< also those that wait for shards
    bool dry_run = false;
    std::uint64_t older_than = 0;  ///< days
};

/// `doctor [HOST]` of either tool. Only udtx-send examines another host: its name for ssh, or HOST:PORT of a receiver.
struct DoctorCommand : Subcommand {
    explicit DoctorCommand(const std::string& tool);
    std::string directory = ".";
    SshOptions ssh;

    /// Empty: this host only.
    [[nodiscard]] std::string host() const { return words.empty() ? std::string() : words.front(); }
    /// Flags for the probe of the host.
    [[nodiscard]] std::vector<std::string> for_host() const;

  private:
    Result<void> check() override;

    std::string psk_file_;
    std::string identity_;
    std::string pin_;
    std::string rate_;
};

/// `ctl [PID|SOCKET COMMAND...]` of either tool
struct CtlCommand : Subcommand {
    explicit CtlCommand(const std::string& tool);
};

[[nodiscard]] Subcommands subcommands_of_send();
[[nodiscard]] Subcommands subcommands_of_recv();

}  // namespace udtx::apps
