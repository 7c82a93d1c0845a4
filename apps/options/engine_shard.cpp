#include "options/engine_shard.hpp"

#include <charconv>
#include <cstddef>

#include "common/usage.hpp"

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

}  // namespace udtx::apps
