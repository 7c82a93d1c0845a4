// Parses command lines with CLI11 by the rules of these tools: the last of repeated options wins, and an error about an
// unknown flag also names the nearest known one. These functions neither print nor end the process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/manual.hpp"
#include "udtx/result.hpp"

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
