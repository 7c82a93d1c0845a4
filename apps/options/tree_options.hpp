// Parses --overwrite, at either end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "options/common_options.hpp"
#include "options/shard_options.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/filter.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::apps {

/// Accepts "never", "diff" or "always".
[[nodiscard]] inline Result<transfer::Overwrite> parse_overwrite(const std::string& text) {
    if (text == "never") return transfer::Overwrite::never;
    if (text == "diff") return transfer::Overwrite::diff;
    if (text == "always") return transfer::Overwrite::always;
    return Error{ErrorCode::invalid_argument, "--overwrite: '" + text + "' is unknown; use never, diff or always"};
}

// Parses the text of files with names and patterns: --files-from and --exclude-from.

/// --files-from: one name per line, or separated by NUL. invalid_argument: a name leads out of the source.
[[nodiscard]] Result<std::vector<std::string>> parse_names(std::string_view text, bool by_nul);

/// Adds a rule as rsync reads it: "- " and "+ " at the front set its kind and override `included`, and "!" drops all
/// rules before it.
[[nodiscard]] Result<void> add_rule(transfer::FilterRules& rules, bool included, std::string pattern);
/// --exclude-from: one rule per line.
[[nodiscard]] Result<void> add_rules(transfer::FilterRules& rules, std::string_view text);

}  // namespace udtx::apps

// Selects which entries of a tree are sent, and how entries that already exist are treated.

namespace CLI {
class App;
}

namespace udtx::apps {

/// A dry run would also replace the receipt of an earlier delivery.
inline constexpr const char* kNoReceiptOfNothing =
    "--receipt lists what was delivered, and --dry-run delivers nothing: leave one of them out";

struct TreeOptions {
    // As typed. check() converts them to the members below.
    std::vector<std::string> excludes;
    std::vector<std::string> includes;
    std::vector<std::string> exclude_files;
    std::string names_file;
    std::string overwrite_text;  ///< empty: diff
    bool archive = false;
    bool recursive = false;
    bool names_by_nul = false;
    bool links = false;
    bool no_links = false;
    bool safe_links = false;
    bool hard_links = false;
    bool attributes = false;
    bool owner = false;
    bool set_id = false;
    bool sparse = false;
    bool by_digest = false;
    bool erase = false;
    bool dry_run = false;
    ShardOptions shards;

    transfer::FilterRules rules;
    std::optional<std::vector<std::string>> names;
    transfer::Overwrite overwrite = transfer::Overwrite::diff;

    void add_to(CLI::App& app, const std::string& overwrite_help);
    /// Only the flags that select entries.
    void add_selecting_to(CLI::App& app);
    /// Converts what these flags have set. Reads the files that were named. `sources`: as for check().
    Result<void> check_selecting(const CLI::App& app, std::size_t sources);
    /// What these flags select, without the sources.
    [[nodiscard]] transfer::Selection selecting() const;
    /// Call it after the parse, because `app` knows the order of the patterns. Reads the files that were named.
    /// `streaming`: one end is a pipe; otherwise `sources` is the number of sources.
    Result<void> check(const CLI::App& app, bool streaming, std::size_t sources);
    /// The first typed flag that selects or compares entries; flags from files do not count.
    [[nodiscard]] static std::optional<std::string> typed(const CLI::App& app, const Origins& origins);
    /// The selection without its sources.
    [[nodiscard]] transfer::Selection selection(const CommonOptions& common) const;

  private:
    Result<void> collect_rules(const CLI::App& app);
    Result<void> read_names();
};

}  // namespace udtx::apps
