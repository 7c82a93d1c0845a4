// Manual page and shell completion, made from the definitions that --help is made from.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/command_line.hpp"
#include "common/manual.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// The manual of a command by its name.
using Manuals = std::function<Manual(std::string_view)>;

/// "man|complete-bash|..." for --help, with `between` between them.
[[nodiscard]] std::string joined_texts(std::string_view between);
/// `what` is one of man, complete-bash, complete-zsh, complete-fish, or man-WORD for a subcommand.
Result<std::string> generate_text(const CLI::App& app, const Subcommands& subcommands, const Manuals& manuals,
                                  const std::string& what);

}  // namespace udtx::apps
