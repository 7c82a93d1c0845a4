#include "options/shard_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "common/read_file.hpp"
#include "common/usage.hpp"
#include "options/engine_shard.hpp"

namespace udtx::apps {
namespace {

/// "3/8".
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
    app.add_option("--shard", text,
                   "Move part K of N of --plan, K from 0 to N - 1; auto: as Slurm, MPI or Kubernetes say")
        ->type_name("K/N|auto")
        ->group(group);
    app.add_option("--plan", plan_file, "Where the tree is cut, the same file for all shards: udtx-send plan makes it")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--job", job, "Shards of one name continue each other (default: a name made of the plan)")
        ->type_name("NAME")
        ->group(group);
}

Result<void> ShardOptions::check() {
    if (text.empty()) {
        if (!plan_file.empty()) return usage("--plan goes with --shard K/N: which part is this?");
        return job.empty() ? Result<void>() : usage("--job goes with --shard K/N");
    }
    if (plan_file.empty()) {
        return usage("--shard needs --plan FILE, the same for all shards: udtx-send plan -N COUNT SRC... >FILE");
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
    const auto plan = read_file(plan_file);
    if (!plan) return usage("--plan: " + plan.error().message);
    auto parsed = transfer::Split::parse(*plan);
    if (!parsed)
        return usage("--plan " + plan_file + ": " + parsed.error().message + ": make it again by udtx-send plan");
    split = std::move(*parsed);
    if (split.count() == shard->count) return {};
    return usage("--shard " + text + ": the plan in " + plan_file + " is for " + std::to_string(split.count()) +
                 " shards, not " + std::to_string(shard->count) + ": start so many, or make a plan for these");
}

std::optional<transfer::PathRange> ShardOptions::part() const {
    return shard ? std::optional(split.part(shard->index)) : std::nullopt;
}

std::uint64_t ShardOptions::number(const std::string& destination) const {
    return transfer::shard_number(job.empty() ? std::to_string(split.digest()) : job, *shard, destination);
}

Result<void> ShardOptions::check_place(const std::string& destination, bool inside) const {
    if (!shard || inside) return {};
    return usage("with --shard the destination is a directory and ends in '/': " + destination + "/");
}

}  // namespace udtx::apps
