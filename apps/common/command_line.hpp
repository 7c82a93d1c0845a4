// Command lines of both tools: parsing, manuals, errors, and the flags of other programs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/exit_codes.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

// An error in the user's command line. The program prints this message and exits with code 1.

[[nodiscard]] inline Error usage(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Remembers where each setting that is not from the command line came from, so that an error names that place.

class Origins {
  public:
    std::vector<std::string> left_out;  ///< why settings files were not read; for warnings

    void note(const std::string& flag, const std::string& origin) { origin_[flag] = origin; }
    /// True if the flag was not on the command line.
    [[nodiscard]] bool has(const std::string& flag) const { return origin_.count(flag) > 0; }
    /// "--rate: ..." becomes "--rate: ... (set by /etc/udtx/config:3)".
    [[nodiscard]] Error attribute(Error error) const {
        const std::string flag = error.message.substr(0, error.message.find_first_of(": "));
        const auto found = origin_.find(flag);
        if (found != origin_.end()) error.message += " (set by " + found->second + ")";
        return error;
    }

  private:
    std::map<std::string, std::string> origin_;  ///< key: "--flag"
};

// The manual of a command apart from its flags. `--help` and the manual page are made from it.

struct Manual {
    /// Flags that most users need for one task. If a command has tasks, its `--help` shows only these.
    struct Task {
        std::string_view name;
        std::vector<std::string_view> flags;  ///< long names without dashes
    };
    struct Entry {
        std::string_view name;  ///< a file, a variable, a subcommand or a field
        std::string_view text;
    };
    /// The fields of one kind of JSON object.
    struct Output {
        std::string_view name;        ///< of the kind of object
        std::string_view text;        ///< when it is printed
        std::vector<Entry> fields{};  ///< with units
    };
    struct Example {
        std::string_view command;
        std::string_view text;
    };

    std::vector<std::string_view> synopses;     ///< arguments after the name and the flags
    std::vector<std::string_view> description;  ///< paragraphs
    std::vector<Task> tasks = {};
    std::vector<Entry> commands = {};
    std::vector<Example> examples;
    std::vector<ExitCode> exit_codes;
    std::vector<Entry> environment = {};
    std::vector<Entry> files = {};
    std::vector<Output> output = {};              ///< on the manual page only
    std::vector<std::string_view> see_also = {};  ///< names of pages in section 1
};

/// Description, examples and exit codes for the end of `--help`. Lines have at most 100 characters.
[[nodiscard]] std::string plain_text(const Manual& manual);
/// Examples and subcommands, for the end of the short help.
[[nodiscard]] std::string short_text(const Manual& manual, const std::string& command);

// Flags of rsync, scp and ascp that udtx does not have, and what to write in their place.

/// `flag` has its dashes. Empty: the flag is not known from those programs. No advice leads to a deletion, unless the
/// flag itself asks for one.
[[nodiscard]] std::optional<std::string> advice_for_habit(std::string_view flag);

}  // namespace udtx::apps

// Parses command lines with CLI11 by the rules of these tools: the last of repeated options wins, and an error about an
// unknown flag also names the nearest known one. These functions neither print nor end the process.

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace udtx::apps {

/// Help or version text that the user asked for. Empty: the program continues.
using EarlyText = std::optional<std::string>;

/// The flag that a name (without dashes) means: the name itself, or the flag that has it as its second name. Second
/// names work on the command line, in the environment and in files; help texts do not list them.
[[nodiscard]] std::string_view flag_meant_by(std::string_view name) noexcept;
/// The second name of a flag; empty if it has only one.
[[nodiscard]] std::string_view other_name_of(std::string_view flag) noexcept;

/// The known name that is nearest to the typed one, if that name deletes nothing: a guess must do no harm.
[[nodiscard]] std::optional<std::string> nearest_harmless(std::string_view typed, std::vector<std::string> known);

void use_house_style(CLI::App& app);
/// Makes `--help` show the flags of the manual's tasks, and `--help-all` every flag. Call it after all flags are
/// defined.
void use_short_help(CLI::App& app, const Manual& manual);
/// Finds an option by its long name without dashes; null if it does not exist. CLI11's own search is noexcept but
/// allocates memory, so it aborts if memory runs out.
[[nodiscard]] const CLI::Option* option_named(const CLI::App& app, std::string_view name);
/// Parses `arguments` into `app`. If a flag is unknown, it calls `of_others`, which returns the long names (without
/// dashes) that the other tool knows.
Result<EarlyText> parse_arguments(CLI::App& app, std::vector<std::string> arguments,
                                  const std::function<std::vector<std::string>()>& of_others = {});

/// The subcommands of a tool, chosen by a first word such as "doctor": name, description and flags of each. Shell
/// completion needs them.
using Subcommands = std::vector<std::shared_ptr<const CLI::App>>;

/// "--udp-port: ..." becomes "-O/--udp-port: ...", because the user may have typed either form.
[[nodiscard]] Error with_short_name(const CLI::App& app, Error error);

}  // namespace udtx::apps
