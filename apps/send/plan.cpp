#include "send/plan.hpp"

#include <algorithm>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/final_report.hpp"
#include "options/subcommands.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::apps {
namespace {

std::string shares_of(const transfer::SplitPlan& plan) {
    const auto [least, most] = std::ranges::minmax(plan.shard_costs);
    std::string line = format_count(plan.files) + (plan.files == 1 ? " file, " : " files, ") + format_bytes(plan.bytes);
    line += ", in " + format_count(plan.split.count()) + (plan.split.count() == 1 ? " shard" : " shards");
    return line + " of " + format_bytes(least) + " to " + format_bytes(most) + ", each file counted as 64 KiB more";
}

}  // namespace

Result<void> split_sources(SendCommand& command, Log& log) {
    ShardOptions& shards = command.tree.shards;
    if (!shards.needs_split()) return {};
    transfer::Selection what = command.tree.selection(command.common);
    what.sources = command.sources;
    auto plan = transfer::make_split(what, shards.shard->count);
    if (!plan) return plan.error();
    log.detail(shares_of(*plan));
    shards.split = std::move(plan->split);
    return {};
}

ExitCode run_plan(Log& log, std::vector<std::string> arguments) {
    PlanCommand command;
    const auto parsed = parse_plan_command(std::move(arguments), command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    transfer::Selection what = command.tree.selecting();
    what.sources = command.sources;
    const auto plan = transfer::make_split(what, command.shards);
    if (!plan) return finish_early(log, exit_code_for(plan.error().code), plan.error().message, false);
    for (const std::string& warning : plan->warnings) log.warn(escape_for_terminal(warning));
    for (const transfer::FailedFile& file : plan->failed) log.error(escape_for_terminal(file.reason));
    if (plan->failed_count > 0) {
        log.error("not counted: " + format_count(plan->failed_count) +
                  (plan->failed_count == 1 ? " entry" : " entries"));
    }
    log.info(shares_of(*plan));
    return print_output(log, plan->split.to_text(), plan->failed_count == 0 ? ExitCode::ok : ExitCode::partial);
}

}  // namespace udtx::apps
