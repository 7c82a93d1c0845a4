#include "options/tree_options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "options/flags.hpp"

namespace udtx::apps {
namespace {

Error doubtful(const std::string& why) { return usage("--shard auto: " + why + ": give --shard K/N"); }

/// The number in a variable. nullopt: the variable is not set.
Result<std::optional<std::size_t>> number_in(const Environment& environment, const char* name) {
    const auto text = environment(name);
    if (!text) return std::optional<std::size_t>();
    const auto value = parse_number<std::size_t>(*text);
    if (!value) return doubtful(std::string(name) + " is '" + *text + "', which is not a number");
    return value;
}

/// The shard that the two variables give together.
Result<transfer::Shard> shard_in(const Environment& environment, const char* index_name, const char* count_name) {
    const auto index = number_in(environment, index_name);
    if (!index) return index.error();
    const auto count = number_in(environment, count_name);
    if (!count) return count.error();
    if (!*index || !*count) {
        return doubtful(std::string(*index ? count_name : index_name) + " is missing beside " +
                        (*index ? index_name : count_name));
    }
    if (**count == 0 || **count > transfer::kMaxShards || **index >= **count) {
        return doubtful(std::string(index_name) + " is " + std::to_string(**index) + " and " + count_name + " is " +
                        std::to_string(**count));
    }
    return transfer::Shard{**index, **count};
}

/// A rerun with --array=2,5 for two failed shards has a count of 2. Only an array from 0 without gaps identifies the
/// shard.
Result<transfer::Shard> array_task(const Environment& environment) {
    const auto least = number_in(environment, "SLURM_ARRAY_TASK_MIN");
    if (!least) return least.error();
    const auto most = number_in(environment, "SLURM_ARRAY_TASK_MAX");
    if (!most) return most.error();
    const auto count = number_in(environment, "SLURM_ARRAY_TASK_COUNT");
    if (!count) return count.error();
    if (*least != std::size_t{0} || !*most || !*count || **count != **most + 1) {
        return doubtful("the array of this Slurm job does not go from 0 to N - 1 without gaps, so N is unknown");
    }
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
        const auto tasks = number_in(environment, name);
        if (!tasks) return tasks.error();
        if (*tasks && **tasks > 1) {
            return doubtful("the Slurm job is an array, and each of its tasks starts " + std::to_string(**tasks) +
                            " processes (" + name + ")");
        }
    }
    return shard_in(environment, "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT");
}

}  // namespace

Result<transfer::Shard> find_engine_shard(const Environment& environment) {
    for (const char* outer : {"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"}) {
        const auto ranks = environment("OMPI_COMM_WORLD_SIZE");
        if (ranks && *ranks != "1" && environment(outer)) {
            return doubtful("MPI has started this process (OMPI_COMM_WORLD_SIZE is " + *ranks +
                            ") within one of several tasks (" + outer + " is set)");
        }
    }
    if (environment("JOB_COMPLETION_INDEX")) {
        if (!environment("UDTX_SHARDS")) {
            return doubtful(
                "a Kubernetes Indexed Job does not tell its pods how many they are. Set UDTX_SHARDS to the job's "
                "completions in its manifest");
        }
        return shard_in(environment, "JOB_COMPLETION_INDEX", "UDTX_SHARDS");
    }
    if (environment("OMPI_COMM_WORLD_RANK")) {
        return shard_in(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    }
    if (environment("SLURM_ARRAY_TASK_ID")) return array_task(environment);
    if (environment("SLURM_STEP_ID")) return shard_in(environment, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
    if (environment("SLURM_JOB_ID")) {
        return doubtful(
            "this is the batch script of a Slurm job and none of its tasks. Start the shards by srun or --array");
    }
    return doubtful("no engine has started this process (Kubernetes Indexed Job, MPI, Slurm)");
}

namespace {

/// Parses "3/8".
std::optional<transfer::Shard> parse_shard(const std::string& text) {
    const std::size_t slash = std::min(text.find('/'), text.size() - 1);
    const auto index = parse_number<std::size_t>(text.substr(0, slash));
    const auto count = parse_number<std::size_t>(text.substr(slash + 1));
    if (!index || !count || *index >= *count) return std::nullopt;
    return transfer::Shard{*index, *count};
}

/// Parses "host1,host2:7012".
Result<std::vector<Url>> parse_servers(const std::string& text) {
    std::vector<Url> servers;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        auto server = parse_url("udtx://" + text.substr(at, end - at) + "/");
        if (!server) return server.error();
        servers.push_back(std::move(*server));
        at = end + 1;
    }
    return servers;
}

}  // namespace

void ShardOptions::define(Flags& flags) {
    flags.group("Many hosts");
    flags.text("--shard", text, "K/N|auto",
               "Transfer part K of N, K from 0 to N - 1; auto: from Slurm, MPI or Kubernetes");
    flags.text("--plan", plan_file, "FILE",
               "Plan of udtx-send plan, the same for all shards (default: each shard walks the tree)");
    flags.text("--job", job, "NAME", "Name of the job of all shards (default: the names of the sources)");
    flags.value("--job-rate", rate, parse_rate, "RATE", "Maximum rate of all shards together");
    flags.value("--servers", servers, parse_servers, "HOST[:PORT],...",
                "Servers with one shared storage: shard K uses number K modulo their count");
}

Result<void> ShardOptions::check() {
    if (text.empty()) {
        if (!plan_file.empty()) return usage("--plan needs --shard K/N");
        if (!job.empty()) return usage("--job needs --shard K/N");
        if (rate) return usage("--job-rate needs --shard K/N; limit one process with --rate");
        return servers.empty() ? Result<void>() : usage("--servers needs --shard K/N");
    }
    for (const Url& server : servers) {
        if (!server.path.empty()) return usage("--servers takes hosts and ports: put the path into the URL");
    }
    if (text == "auto") {
        const auto found = find_engine_shard([](const char* name) {
            const char* const value = std::getenv(name);
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
        });
        if (!found) return found.error();
        shard = *found;
    } else {
        shard = parse_shard(text);
    }
    if (!shard) return usage("--shard: '" + text + "' is neither K/N, with K from 0 to N - 1, nor auto");
    if (plan_file.empty()) return {};
    const auto plan = read_file(plan_file);
    if (!plan) return usage("--plan: " + plan.error().message);
    auto parsed = transfer::Split::parse(*plan);
    if (!parsed)
        return usage("--plan " + plan_file + ": " + parsed.error().message + ": make it again with udtx-send plan");
    split = std::move(*parsed);
    if (split.count() == shard->count) return {};
    return usage("--shard " + text + ": the plan in " + plan_file + " is for " + std::to_string(split.count()) +
                 " shards, not " + std::to_string(shard->count) + ": change --shard, or make another plan");
}

Result<void> ShardOptions::check_selection(std::uint64_t number) {
    selection = number;
    if (plan_file.empty()) return {};
    if (!split.content(0)) {
        return usage("--plan " + plan_file +
                     ": it does not say what each shard has: make it again with udtx-send plan");
    }
    if (split.selection() == number) return {};
    return usage("--plan " + plan_file +
                 ": it was made with other filters or names: give udtx-send plan the same --exclude, --include, "
                 "--exclude-from, --files-from and --links as the shards");
}

std::string ShardOptions::receipt_of(const std::string& typed) const {
    return text == "auto" && !typed.empty() ? typed + '.' + std::to_string(shard->index) : typed;
}

std::optional<transfer::PathRange> ShardOptions::part() const {
    const bool cut = shard && split.count() == shard->count;
    return cut ? std::optional(split.part(shard->index)) : std::nullopt;
}

std::string ShardOptions::name_of(const std::vector<std::string>& sources) const {
    if (!job.empty()) return job;
    // Uses only the last part of each source, so that the name is the same on every host.
    std::string all;
    for (const std::string& source : sources) {
        const std::size_t end = source.find_last_not_of('/');
        const std::size_t begin = end == std::string::npos ? end : source.rfind('/', end);
        all += source.substr(begin == std::string::npos ? 0 : begin + 1) + '\n';
    }
    return all;
}

std::uint64_t ShardOptions::number(const std::vector<std::string>& sources, const std::string& destination) const {
    return transfer::shard_number(name_of(sources), *shard, destination);
}

transfer::JobShard ShardOptions::of_job(const std::vector<std::string>& sources, const std::string& destination) const {
    transfer::JobShard out;
    out.job = transfer::job_number(name_of(sources), shard->count, destination);
    out.index = shard->index;
    out.count = shard->count;
    out.split = split.digest();
    out.selection = selection;
    // Without a plan this process has just counted the tree itself, and the tree may change until it is read.
    if (!plan_file.empty()) out.content = split.content(shard->index);
    if (rate) out.bits_per_second = static_cast<std::uint64_t>(rate->bps());
    return out;
}

void ShardOptions::choose_server(Url& url) const {
    if (servers.empty()) return;
    const Url& chosen = servers[shard->index % servers.size()];
    url.host = chosen.host;
    url.port = chosen.port;
    url.port_given = chosen.port_given;
}

Result<void> ShardOptions::check_place(const std::string& destination, bool inside) const {
    if (!shard || inside) return {};
    return usage("with --shard the destination is a directory and ends in '/': " + destination + "/");
}

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

/// Adds a rule. Its own sign at the front overrides `included`.
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

Result<std::string> read_all(const std::string& name, const std::string& option) {
    if (name == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
    auto text = read_file(name);
    if (!text) return usage(option + ": " + text.error().message);
    return text;
}

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

Result<void> add_rules(transfer::FilterRules& rules, std::string_view text) {
    for (std::string& line : split_at(text, '\n')) {
        if (is_comment(line)) continue;
        if (auto added = add_rule(rules, false, std::move(line)); !added) return added;
    }
    return {};
}

void TreeOptions::define_selecting(Flags& flags) {
    flags.group("Copying");
    flags.text("--exclude", excludes, "PATTERN", "Skip names that match (patterns of rsync; the first match decides)");
    flags.text("--include", includes, "PATTERN", "Send names that match, even if a later pattern excludes them");
    flags.text("--exclude-from", exclude_files, "FILE", "Read patterns from FILE, one per line");
    flags.text("--files-from", names_file, "FILE",
               "Send only the names in FILE, relative to SRC; '-' is standard input");
    flags.on("-0,--from0", names_by_nul, "Names in that list end with NUL in place of a newline");
    flags.on("--links", links, "Send symbolic links as links (the default; links are never followed)");
    flags.on("--safe-links", safe_links, "Skip symbolic links that point out of the tree");
    flags.on("--no-links", no_links, "Skip all symbolic links");
}

void TreeOptions::define(Flags& flags, const std::string& overwrite_help) {
    using transfer::Overwrite;
    flags.group("Copying");
    flags.on("-r,--recursive", what.into_named,
             "Send the contents of directories named by --files-from; otherwise implied");
    flags.on("-a,--archive", archive,
             "Same as -p --links --hard-links --xattrs --owner, and -r except with --files-from");
    flags.on("-n,--dry-run", what.dry_run, "List what would be sent, skipped and deleted; change nothing");
    define_selecting(flags);
    flags.on("-H,--hard-links", what.hard_links, "Preserve hard links");
    flags.on("-X,--xattrs", what.attributes, "Preserve extended attributes of the user namespace");
    flags.on("--owner", what.owner, "Preserve user and group ids if the receiver runs as root");
    flags.on("--set-id", what.set_id, "Same as -p, and preserve set-user-ID, set-group-ID and sticky bits of files");
    flags.on("-S,--sparse", what.sparse, "Write zeros as holes; existing holes are always preserved");
    flags.on("-c,--by-hash", what.by_digest, "Compare contents in place of size and modification time");
    flags.choice("--overwrite", overwrite,
                 {{"never", Overwrite::never}, {"diff", Overwrite::diff}, {"always", Overwrite::always}},
                 overwrite_help);
    flags.on("--delete", what.erase,
             "Delete names at the destination that the sources do not have, after everything arrived");
    shards.define(flags);
}

Result<void> TreeOptions::refuse(const Flags& flags, const Origins& origins, const std::string& why) {
    return flags.refuse({"--archive", "--dry-run", "--exclude",    "--include",  "--exclude-from", "--files-from",
                         "--from0",   "--links",   "--safe-links", "--no-links", "--hard-links",   "--xattrs",
                         "--owner",   "--set-id",  "--sparse",     "--by-hash",  "--delete",       "--shard",
                         "--plan",    "--job",     "--job-rate",   "--servers"},
                        origins, why);
}

Result<void> TreeOptions::collect_rules(const Flags& flags) {
    auto exclude = excludes.begin();
    auto include = includes.begin();
    auto file = exclude_files.begin();
    for (const CLI::Option* option : flags.app().parse_order()) {
        Result<void> added;
        if (option->check_name("--exclude") && exclude != excludes.end())
            added = add_rule(what.rules, false, *exclude++);
        if (option->check_name("--include") && include != includes.end())
            added = add_rule(what.rules, true, *include++);
        if (option->check_name("--exclude-from") && file != exclude_files.end()) {
            const auto text = read_all(*file++, "--exclude-from");
            if (!text) return text.error();
            added = add_rules(what.rules, *text);
        }
        if (!added) return added;
    }
    return {};
}

Result<void> TreeOptions::check(const Flags& flags, bool streaming, std::size_t sources) {
    if (streaming && (what.dry_run || what.erase || !names_file.empty())) {
        return usage("--dry-run, --delete and --files-from are for trees, not for standard input or output");
    }
    if (const auto checked = shards.check(); !checked) return checked;
    if (shards.shard && streaming) return usage("--shard is for trees, not for standard input or output");
    if (shards.shard && what.erase) {
        return usage(
            "--delete and --shard exclude each other: one shard does not know what the others send. Run it without "
            "--shard when all shards have ended");
    }
    if (archive) what.hard_links = what.attributes = what.owner = true;
    if (!names_file.empty() && what.erase) {
        return usage("--delete and --files-from exclude each other: a list does not name what to delete");
    }
    if (const auto checked = check_selecting(flags, sources); !checked) return checked;
    return shards.check_selection(transfer::selection_number(what));
}

Result<void> TreeOptions::check_selecting(const Flags& flags, std::size_t sources) {
    if (static_cast<int>(links) + static_cast<int>(no_links) + static_cast<int>(safe_links) > 1) {
        return usage("--links, --safe-links and --no-links exclude each other");
    }
    if (names_by_nul && names_file.empty()) return usage("--from0 needs --files-from");
    if (!names_file.empty() && sources != 1) return usage("--files-from takes one SRC, the directory of the names");
    if (safe_links) what.links = transfer::LinkChoice::safe;
    if (no_links) what.links = transfer::LinkChoice::skip;
    if (const auto collected = collect_rules(flags); !collected) return collected;
    if (names_file.empty()) return {};
    const auto text = read_all(names_file, "--files-from");
    if (!text) return text.error();
    auto parsed = parse_names(*text, names_by_nul);
    if (!parsed) return parsed.error();
    what.names = std::move(*parsed);
    return {};
}

transfer::Selection TreeOptions::selection(const CommonOptions& common) const {
    transfer::Selection out = what;
    out.preserve = common.preserve;
    out.hash = common.checksum;
    out.part = shards.part();
    out.overwrite = overwrite.value_or(transfer::Overwrite::diff);
    return out;
}

}  // namespace udtx::apps
