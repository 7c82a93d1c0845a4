// Manual page and shell completion, made from the definitions that --help is made from.
#pragma once

#include <string>

#include "common/command_line.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// "man|complete-bash|..." for --help, with `between` between them.
[[nodiscard]] std::string joined_texts(std::string_view between);
/// `what` is one of man, complete-bash, complete-zsh, complete-fish.
Result<std::string> generate_text(const CLI::App& app, const Subcommands& subcommands, const std::string& what);

}  // namespace udtx::apps
