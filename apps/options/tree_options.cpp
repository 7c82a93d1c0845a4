#include "options/tree_options.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

std::vector<std::string> split_at(std::string_view text, char separator) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        std::string line(text.substr(at, end - at));
        if (separator == '\n' && line.ends_with('\r')) line.pop_back();
        if (!line.empty()) out.push_back(std::move(line));
        at = end + 1;
    }
    return out;
}

bool is_comment(const std::string& line) { return line.front() == '#' || line.front() == ';'; }

}  // namespace

Result<std::vector<std::string>> parse_names(std::string_view text, bool by_nul) {
    std::vector<std::string> names = split_at(text, by_nul ? '\0' : '\n');
    if (!by_nul) std::erase_if(names, is_comment);
    for (const std::string& name : names) {
        const std::filesystem::path path(name);
        if (std::find(path.begin(), path.end(), "..") != path.end()) {
            return usage("--files-from: '" + escape_for_terminal(name) + "' is outside of the source");
        }
    }
    return names;
}

Result<void> add_rule(transfer::FilterRules& rules, bool included, std::string pattern) {
    if (pattern == "!") {
        rules = {};
        return {};
    }
    if (pattern.starts_with("+ ") || pattern.starts_with("- ")) {
        included = pattern.front() == '+';
        pattern.erase(0, 2);
    }
    auto added = rules.add({included, std::move(pattern)});
    if (added) return {};
    return usage(std::string(included ? "--include: " : "--exclude: ") + added.error().message);
}

Result<void> add_rules(transfer::FilterRules& rules, std::string_view text) {
    for (std::string& line : split_at(text, '\n')) {
        if (is_comment(line)) continue;
        if (auto added = add_rule(rules, false, std::move(line)); !added) return added;
    }
    return {};
}

namespace {

Result<std::string> read_all(const std::string& name, const std::string& option) {
    if (name == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
    auto text = read_file(name);
    if (!text) return usage(option + ": " + text.error().message);
    return text;
}

}  // namespace

void TreeOptions::add_selecting_to(CLI::App& app) {
    const auto group = "Copying";
    app.add_option("--exclude", excludes, "Skip names that match (patterns of rsync; the first match decides)")
        ->type_name("PATTERN")
        ->allow_extra_args(false)
        ->group(group);
    app.add_option("--include", includes, "Send names that match, even if a later pattern excludes them")
        ->type_name("PATTERN")
        ->allow_extra_args(false)
        ->group(group);
    app.add_option("--exclude-from", exclude_files, "Read patterns from FILE, one per line")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->group(group);
    app.add_option("--files-from", names_file, "Send only the names in FILE, relative to SRC; '-' is standard input")
        ->type_name("FILE")
        ->group(group);
    app.add_flag("-0,--from0", names_by_nul, "Names in that list end with NUL in place of a newline")->group(group);
    app.add_flag("--links", links, "Send symbolic links as links (the default; links are never followed)")
        ->group(group);
    app.add_flag("--safe-links", safe_links, "Skip symbolic links that point out of the tree")->group(group);
    app.add_flag("--no-links", no_links, "Skip all symbolic links")->group(group);
}

void TreeOptions::add_to(CLI::App& app, const std::string& overwrite_help) {
    const auto group = "Copying";
    app.add_flag("-r,--recursive", recursive,
                 "Send the contents of directories named by --files-from; otherwise implied")
        ->group(group);
    app.add_flag("-a,--archive", archive,
                 "Same as -p --links --hard-links --xattrs --owner, and -r except with --files-from")
        ->group(group);
    app.add_flag("-n,--dry-run", dry_run, "List what would be sent, skipped and deleted; change nothing")->group(group);
    add_selecting_to(app);
    app.add_flag("-H,--hard-links", hard_links, "Preserve hard links")->group(group);
    app.add_flag("-X,--xattrs", attributes, "Preserve extended attributes of the user namespace")->group(group);
    app.add_flag("--owner", owner, "Preserve user and group ids if the receiver runs as root")->group(group);
    app.add_flag("--set-id", set_id, "Same as -p, and preserve set-user-ID, set-group-ID and sticky bits of files")
        ->group(group);
    app.add_flag("-S,--sparse", sparse, "Write zeros as holes; existing holes are always preserved")->group(group);
    app.add_flag("-c,--by-hash", by_digest, "Compare contents in place of size and modification time")->group(group);
    app.add_option("--overwrite", overwrite_text, overwrite_help)->type_name("never|diff|always")->group(group);
    app.add_flag("--delete", erase,
                 "Delete names at the destination that the sources do not have, after everything arrived")
        ->group(group);
    shards.add_to(app);
}

Result<void> TreeOptions::collect_rules(const CLI::App& app) {
    auto exclude = excludes.begin();
    auto include = includes.begin();
    auto file = exclude_files.begin();
    for (const CLI::Option* option : app.parse_order()) {
        Result<void> added;
        if (option->check_name("--exclude") && exclude != excludes.end()) added = add_rule(rules, false, *exclude++);
        if (option->check_name("--include") && include != includes.end()) added = add_rule(rules, true, *include++);
        if (option->check_name("--exclude-from") && file != exclude_files.end()) {
            const auto text = read_all(*file++, "--exclude-from");
            if (!text) return text.error();
            added = add_rules(rules, *text);
        }
        if (!added) return added;
    }
    return {};
}

Result<void> TreeOptions::read_names() {
    if (names_file.empty()) return {};
    const auto text = read_all(names_file, "--files-from");
    if (!text) return text.error();
    auto parsed = parse_names(*text, names_by_nul);
    if (!parsed) return parsed.error();
    names = std::move(*parsed);
    return {};
}

std::optional<std::string> TreeOptions::typed(const CLI::App& app, const Origins& origins) {
    for (const char* flag : {"--archive", "--dry-run", "--exclude",    "--include",  "--exclude-from", "--files-from",
                             "--from0",   "--links",   "--safe-links", "--no-links", "--hard-links",   "--xattrs",
                             "--owner",   "--set-id",  "--sparse",     "--by-hash",  "--delete",       "--shard",
                             "--plan",    "--job",     "--job-rate",   "--servers"}) {
        if (app.count(flag) > 0 && !origins.has(flag)) return flag;
    }
    return std::nullopt;
}

Result<void> TreeOptions::check(const CLI::App& app, bool streaming, std::size_t sources) {
    if (streaming && (dry_run || erase || !names_file.empty())) {
        return usage("--dry-run, --delete and --files-from are for trees, not for standard input or output");
    }
    if (const auto checked = shards.check(); !checked) return checked;
    if (shards.shard && streaming) return usage("--shard is for trees, not for standard input or output");
    if (shards.shard && erase) {
        return usage(
            "--delete and --shard exclude each other: one shard does not know what the others send. Run it without "
            "--shard when all shards have ended");
    }
    if (archive) hard_links = attributes = owner = true;
    if (!names_file.empty() && erase) {
        return usage("--delete and --files-from exclude each other: a list does not name what to delete");
    }
    const auto parsed = parse_overwrite(overwrite_text.empty() ? "diff" : overwrite_text);
    if (!parsed) return parsed.error();
    overwrite = parsed.value();
    if (const auto checked = check_selecting(app, sources); !checked) return checked;
    return shards.check_selection(transfer::selection_number(selecting()));
}

Result<void> TreeOptions::check_selecting(const CLI::App& app, std::size_t sources) {
    if (static_cast<int>(links) + static_cast<int>(no_links) + static_cast<int>(safe_links) > 1) {
        return usage("--links, --safe-links and --no-links exclude each other");
    }
    if (names_by_nul && names_file.empty()) return usage("--from0 needs --files-from");
    if (!names_file.empty() && sources != 1) return usage("--files-from takes one SRC, the directory of the names");
    if (const auto collected = collect_rules(app); !collected) return collected;
    return read_names();
}

transfer::Selection TreeOptions::selecting() const {
    transfer::Selection what;
    what.rules = rules;
    what.names = names;
    what.into_named = recursive;
    if (safe_links) what.links = transfer::LinkChoice::safe;
    if (no_links) what.links = transfer::LinkChoice::skip;
    return what;
}

transfer::Selection TreeOptions::selection(const CommonOptions& common) const {
    transfer::Selection what = selecting();
    what.preserve = common.preserve;
    if (common.checksum == "sha256") what.hash = transfer::HashAlgorithm::sha256;
    what.hard_links = hard_links;
    what.owner = owner;
    what.set_id = set_id;
    what.attributes = attributes;
    what.sparse = sparse;
    what.by_digest = by_digest;
    what.dry_run = dry_run;
    what.erase = erase;
    what.part = shards.part();
    what.overwrite = overwrite;
    return what;
}

}  // namespace udtx::apps
