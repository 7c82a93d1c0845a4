#include "options/tree_options.hpp"

#include <map>
#include <string>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

using Variables = std::map<std::string, std::string>;

Result<transfer::Shard> find(const Variables& variables) {
    return find_engine_shard([&](const char* name) -> std::optional<std::string> {
        const auto at = variables.find(name);
        return at == variables.end() ? std::nullopt : std::optional(at->second);
    });
}

std::string shard_of(const Variables& variables) {
    const auto shard = find(variables);
    return shard ? std::to_string(shard->index) + "/" + std::to_string(shard->count) : shard.error().message;
}

/// The variables that sbatch --array=0-7 sets in the task with that number.
Variables array_task(const std::string& id) {
    return {{"SLURM_JOB_ID", "9"},          {"SLURM_PROCID", "0"},         {"SLURM_NTASKS", "1"},
            {"SLURM_ARRAY_TASK_ID", id},    {"SLURM_ARRAY_TASK_MIN", "0"}, {"SLURM_ARRAY_TASK_MAX", "7"},
            {"SLURM_ARRAY_TASK_COUNT", "8"}};
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
    variables[name] = value;
    return variables;
}

/// Requires a refusal for that reason, with a message that says what to type.
void refused(const Variables& variables, const std::string& why) {
    const auto shard = find(variables);
    CAPTURE(why);
    REQUIRE_FALSE(shard.ok());
    CHECK(shard.error().code == ErrorCode::invalid_argument);
    CAPTURE(shard.error().message);
    CHECK(shard.error().message.find(why) != std::string::npos);
    CHECK(shard.error().message.find("give --shard K/N") != std::string::npos);
}

}  // namespace

TEST_CASE("each engine says which shard a process is, the nearest one first") {
    const Variables step{
        {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}};
    CHECK(shard_of(step) == "2/4");
    CHECK(shard_of(array_task("5")) == "5/8");
    // An array task that starts one process with srun.
    CHECK(shard_of(with(with(array_task("5"), "SLURM_STEP_ID", "0"), "SLURM_STEP_NUM_TASKS", "1")) == "5/8");
    const Variables mpi{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "6"}};
    CHECK(shard_of(mpi) == "3/6");
    Variables mpi_in_slurm = step;
    mpi_in_slurm.insert(mpi.begin(), mpi.end());
    CHECK(shard_of(mpi_in_slurm) == "3/6");
    Variables pod{{"JOB_COMPLETION_INDEX", "0"}, {"UDTX_SHARDS", "2"}};
    CHECK(shard_of(pod) == "0/2");
    pod.insert(step.begin(), step.end());
    CHECK(shard_of(pod) == "0/2");
}

TEST_CASE("where the answer is doubtful the flag has to be typed") {
    refused({}, "no engine has started this process");
    // The variables of the batch script itself look like those of a task.
    refused({{"SLURM_JOB_ID", "9"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, "batch script");
    // Arrays that do not go from 0 to N - 1: --array=2,5 to repeat two failed tasks; --array=1-8; --array=0-6:2.
    Variables later = array_task("2");
    later["SLURM_ARRAY_TASK_MIN"] = "2";
    later["SLURM_ARRAY_TASK_MAX"] = "5";
    later["SLURM_ARRAY_TASK_COUNT"] = "2";
    refused(later, "does not go from 0 to N - 1");
    Variables from_one = array_task("1");
    from_one["SLURM_ARRAY_TASK_MIN"] = "1";
    from_one["SLURM_ARRAY_TASK_MAX"] = "8";
    refused(from_one, "does not go from 0 to N - 1");
    Variables gaps = array_task("2");
    gaps["SLURM_ARRAY_TASK_MAX"] = "6";
    gaps["SLURM_ARRAY_TASK_COUNT"] = "4";
    refused(gaps, "does not go from 0 to N - 1");
    Variables less = array_task("2");
    less.erase("SLURM_ARRAY_TASK_MAX");
    refused(less, "does not go from 0 to N - 1");
    refused(with(array_task("5"), "SLURM_NTASKS", "4"), "starts 4 processes");
    refused(with(with(array_task("5"), "SLURM_STEP_ID", "0"), "SLURM_STEP_NUM_TASKS", "2"), "starts 2 processes");
    refused(with(array_task("5"), "SLURM_ARRAY_TASK_COUNT", "many"), "is not a number");
    refused({{"JOB_COMPLETION_INDEX", "3"}}, "UDTX_SHARDS");
    refused({{"JOB_COMPLETION_INDEX", "3"}, {"UDTX_SHARDS", "3"}}, "JOB_COMPLETION_INDEX is 3 and UDTX_SHARDS is 3");
    refused({{"JOB_COMPLETION_INDEX", "x"}, {"UDTX_SHARDS", "3"}}, "is not a number");
    refused({{"JOB_COMPLETION_INDEX", "0"}, {"UDTX_SHARDS", "0"}}, "UDTX_SHARDS is 0");
    refused({{"JOB_COMPLETION_INDEX", "0"}, {"UDTX_SHARDS", "4097"}}, "UDTX_SHARDS is 4097");
    refused({{"JOB_COMPLETION_INDEX", "-1"}, {"UDTX_SHARDS", "3"}}, "is not a number");
    refused({{"OMPI_COMM_WORLD_RANK", "1"}}, "OMPI_COMM_WORLD_SIZE is missing");
    for (Variables outer : {array_task("2"), Variables{{"JOB_COMPLETION_INDEX", "1"}, {"UDTX_SHARDS", "8"}}}) {
        outer.insert({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
        refused(outer, "OMPI_COMM_WORLD_SIZE is 4");
    }
    refused({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}}, "SLURM_STEP_NUM_TASKS is missing");
    refused({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", ""}, {"SLURM_STEP_NUM_TASKS", "2"}}, "is not a number");
}
