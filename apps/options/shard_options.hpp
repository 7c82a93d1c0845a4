// Finds the shard number that an engine gave to this process: Kubernetes, MPI, Slurm.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/locations.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/job_shard.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::apps {

/// Value of an environment variable; nullopt: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Asks the engine that is nearest to the process: a Kubernetes Indexed Job, then an MPI rank, then a Slurm array task,
/// then a Slurm step. Inside mpirun, the variables of Slurm belong to a daemon. invalid_argument: no engine was found,
/// or its answer is ambiguous; the message says why and what to type instead.
[[nodiscard]] Result<transfer::Shard> find_engine_shard(const Environment& environment);

}  // namespace udtx::apps

// Selects the part of a tree that this process transfers, if many processes share the job.

namespace CLI {
class App;
}

namespace udtx::apps {

struct ShardOptions {
    // As typed. check() converts them to the members below.
    std::string text;
    std::string plan_file;
    std::string job;           ///< empty: made from the names of the sources
    std::string rate_text;     ///< empty: no rate
    std::string servers_text;  ///< empty: the server of the URL

    std::optional<transfer::Shard> shard;
    Rate rate = Rate::infinite();  ///< rate of all shards together
    transfer::Split split;         ///< for this number of shards; set once it is known
    std::uint64_t selection = 0;   ///< set by check_selection()

    void add_to(CLI::App& app);
    /// Also reads the plan.
    Result<void> check();
    /// Takes transfer::selection_number() of this process, and compares it with that of the plan.
    Result<void> check_selection(std::uint64_t number);
    /// With --shard auto nobody can type a name for each shard, and all of them would write the same file.
    [[nodiscard]] std::string receipt_of(const std::string& typed) const;
    /// The part that the shard transfers; empty without a shard.
    [[nodiscard]] std::optional<transfer::PathRange> part() const;
    /// The description of the shard for the receiver of `destination`. Call it only with a shard.
    [[nodiscard]] transfer::JobShard of_job(const std::vector<std::string>& sources,
                                            const std::string& destination) const;
    /// The number of the transfer to `destination`. Call it only with a shard.
    [[nodiscard]] std::uint64_t number(const std::vector<std::string>& sources, const std::string& destination) const;
    /// True if there is no plan, so that the sources must be scanned.
    [[nodiscard]] bool needs_split() const noexcept { return shard && plan_file.empty(); }
    /// Chooses this shard's server if there are several. `url` is the typed one.
    [[nodiscard]] Result<void> choose_server(std::optional<Url>& url) const;
    /// If shards start at the same time, one may find a directory that another has just made and take it for the parent
    /// of the tree. So the destination must be unambiguous. `inside`: it is a directory, whether it exists or not.
    [[nodiscard]] Result<void> check_place(const std::string& destination, bool inside) const;

  private:
    [[nodiscard]] std::string name_of(const std::vector<std::string>& sources) const;
};

}  // namespace udtx::apps
