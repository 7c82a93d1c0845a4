// Which shard an engine has started: Kubernetes, MPI, Slurm.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "udtx/result.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::apps {

/// Value of an environment variable; nullopt: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Looks for the engine that is nearest to the process: a Kubernetes Indexed Job, then an MPI rank, then a Slurm array
/// task, then a Slurm step. Inside mpirun the variables of Slurm are those of a daemon. invalid_argument: there is
/// none, or its answer is doubtful; the text says why and what to type instead.
[[nodiscard]] Result<transfer::Shard> find_engine_shard(const Environment& environment);

}  // namespace udtx::apps
