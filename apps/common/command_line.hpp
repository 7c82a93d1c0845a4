// Parsing with CLI11, our way: the last of repeated options wins, unknown flags are named together with the nearest
// known one, and nothing is printed or ended from in here.
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

/// Help or version text asked for by the user; nothing when the program is to go on.
using EarlyText = std::optional<std::string>;

/// The flag that a name without dashes stands for: its own, or one whose other name it is. Other names work on the
/// command line, in the environment and in files, and are shown nowhere.
[[nodiscard]] std::string_view flag_meant_by(std::string_view name) noexcept;
/// The other name of a flag; empty: it has none.
[[nodiscard]] std::string_view other_name_of(std::string_view flag) noexcept;

void use_house_style(CLI::App& app);
/// `--help` shows the flags of the manual's tasks, `--help-all` every flag. After all flags are defined.
void use_short_help(CLI::App& app, const Manual& manual);
/// By its long name, without dashes; or null. CLI11's own search must not throw, and allocates: without memory it
/// aborts.
[[nodiscard]] const CLI::Option* option_named(const CLI::App& app, std::string_view name);
/// `of_others`, asked for when a flag is unknown, are the long names that the other tool knows, without dashes.
Result<EarlyText> parse_arguments(CLI::App& app, std::vector<std::string> arguments,
                                  const std::function<std::vector<std::string>()>& of_others = {});

/// What a first word such as "doctor" makes of a tool: name, description and flags of each, for completion.
using Subcommands = std::vector<std::shared_ptr<const CLI::App>>;

/// "--udp-port: ..." becomes "-O/--udp-port: ...": the user may have typed either.
[[nodiscard]] Error with_short_name(const CLI::App& app, Error error);

}  // namespace udtx::apps
