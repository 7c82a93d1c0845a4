// The lists of names and of patterns that files hold: --files-from and --exclude-from. Text in, values out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"
#include "udtx/transfer/filter.hpp"

namespace udtx::apps {

/// --files-from: a name a line, or up to each NUL. invalid_argument: one leads out of the source.
[[nodiscard]] Result<std::vector<std::string>> parse_names(std::string_view text, bool by_nul);

/// As rsync reads it: "- " and "+ " say what a rule is, whatever brought it, and "!" forgets those before it.
[[nodiscard]] Result<void> add_rule(transfer::FilterRules& rules, bool included, std::string pattern);
/// --exclude-from: a rule a line.
[[nodiscard]] Result<void> add_rules(transfer::FilterRules& rules, std::string_view text);

}  // namespace udtx::apps
