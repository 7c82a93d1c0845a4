// Finds the shard number that an engine gave to this process: Kubernetes, MPI, Slurm.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "udtx/result.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::apps {

/// Value of an environment variable; nullopt: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Asks the engine that is nearest to the process: a Kubernetes Indexed Job, then an MPI rank, then a Slurm array task,
/// then a Slurm step. Inside mpirun, the variables of Slurm belong to a daemon. invalid_argument: no engine was found,
/// or its answer is ambiguous; the message says why and what to type instead.
[[nodiscard]] Result<transfer::Shard> find_engine_shard(const Environment& environment);

}  // namespace udtx::apps
