// Parses the text of files with names and patterns: --files-from and --exclude-from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"
#include "udtx/transfer/filter.hpp"

namespace udtx::apps {

/// --files-from: one name per line, or separated by NUL. invalid_argument: a name leads out of the source.
[[nodiscard]] Result<std::vector<std::string>> parse_names(std::string_view text, bool by_nul);

/// Adds a rule as rsync reads it: "- " and "+ " at the front set its kind and override `included`, and "!" drops all
/// rules before it.
[[nodiscard]] Result<void> add_rule(transfer::FilterRules& rules, bool included, std::string pattern);
/// --exclude-from: one rule per line.
[[nodiscard]] Result<void> add_rules(transfer::FilterRules& rules, std::string_view text);

}  // namespace udtx::apps
