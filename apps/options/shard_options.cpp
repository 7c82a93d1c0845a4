#include "options/shard_options.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include <CLI/CLI.hpp>

#include "common/command_line.hpp"
#include "common/process.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

Error doubtful(const std::string& why) { return usage("--shard auto: " + why + ": give --shard K/N"); }

/// The number in a variable. nullopt: the variable is not set.
Result<std::optional<std::size_t>> number_in(const Environment& environment, const char* name) {
    const auto text = environment(name);
    if (!text) return std::optional<std::size_t>();
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size()) {
        return doubtful(std::string(name) + " is '" + *text + "', which is not a number");
    }
    return std::optional(value);
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
    const char* const end = text.data() + text.size();
    transfer::Shard shard;
    const auto [slash, bad_index] = std::from_chars(text.data(), end, shard.index);
    if (bad_index != std::errc() || slash == end || *slash != '/') return std::nullopt;
    const auto [last, bad_count] = std::from_chars(slash + 1, end, shard.count);
    if (bad_count != std::errc() || last != end || shard.index >= shard.count) return std::nullopt;
    return shard;
}

}  // namespace

void ShardOptions::add_to(CLI::App& app) {
    const auto group = "Many hosts";
    app.add_option("--shard", text, "Transfer part K of N, K from 0 to N - 1; auto: from Slurm, MPI or Kubernetes")
        ->type_name("K/N|auto")
        ->group(group);
    app.add_option("--plan", plan_file,
                   "Plan of udtx-send plan, the same for all shards (default: each shard walks the tree)")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--job", job, "Name of the job of all shards (default: the names of the sources)")
        ->type_name("NAME")
        ->group(group);
    app.add_option("--job-rate", rate_text, "Maximum rate of all shards together")->type_name("RATE")->group(group);
    app.add_option("--servers", servers_text,
                   "Servers with one shared storage: shard K uses number K modulo their count")
        ->type_name("HOST[:PORT],...")
        ->group(group);
}

Result<void> ShardOptions::check() {
    if (text.empty()) {
        if (!plan_file.empty()) return usage("--plan needs --shard K/N");
        if (!job.empty()) return usage("--job needs --shard K/N");
        if (!rate_text.empty()) return usage("--job-rate needs --shard K/N; limit one process with --rate");
        return servers_text.empty() ? Result<void>() : usage("--servers needs --shard K/N");
    }
    if (!rate_text.empty()) {
        const auto parsed = parse_rate(rate_text);
        if (!parsed) return usage("--job-rate: " + parsed.error().message);
        rate = *parsed;
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
    if (!rate.is_infinite()) out.bits_per_second = static_cast<std::uint64_t>(rate.bps());
    return out;
}

Result<void> ShardOptions::choose_server(std::optional<Url>& url) const {
    if (servers_text.empty()) return {};
    if (!url) return usage("--servers is for udtx://HOST, and not for ssh");
    std::vector<Url> servers;
    for (std::size_t at = 0; at <= servers_text.size();) {
        const std::size_t end = std::min(servers_text.find(',', at), servers_text.size());
        const auto server = parse_url("udtx://" + servers_text.substr(at, end - at) + "/");
        if (!server) return usage("--servers: " + server.error().message);
        if (!server->path.empty()) return usage("--servers takes hosts and ports: put the path into the URL");
        servers.push_back(*server);
        at = end + 1;
    }
    const Url& chosen = servers[shard->index % servers.size()];
    url->host = chosen.host;
    url->port = chosen.port;
    url->port_given = chosen.port_given;
    return {};
}

Result<void> ShardOptions::check_place(const std::string& destination, bool inside) const {
    if (!shard || inside) return {};
    return usage("with --shard the destination is a directory and ends in '/': " + destination + "/");
}

}  // namespace udtx::apps
