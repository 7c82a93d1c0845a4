// Makes the manual page (roff, man(7)) and the shell completion from the definitions that --help uses.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/command_line.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// Returns the manual of a command by the command's name.
using Manuals = std::function<Manual(std::string_view)>;

/// "man|complete-bash|..." for --help. `between` separates the words.
[[nodiscard]] std::string joined_texts(std::string_view between);
/// Makes the text `what`: man, complete-bash, complete-zsh, complete-fish, or man-WORD for a subcommand.
Result<std::string> generate_text(const CLI::App& app, const Subcommands& subcommands, const Manuals& manuals,
                                  const std::string& what);

}  // namespace udtx::apps
