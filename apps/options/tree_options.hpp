// Selects which entries of a tree are sent, and how entries that already exist are treated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/command_line.hpp"
#include "common/locations.hpp"
#include "options/common_options.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::apps {

class Flags;

/// Value of an environment variable; nullopt: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Asks the engine that is nearest to the process: a Kubernetes Indexed Job, then an MPI rank, then a Slurm array task,
/// then a Slurm step. Inside mpirun, the variables of Slurm belong to a daemon. invalid_argument: no engine was found,
/// or its answer is ambiguous; the message says why and what to type instead.
[[nodiscard]] Result<transfer::Shard> find_engine_shard(const Environment& environment);

/// The part of a tree that this process transfers, if many processes share the job.
struct ShardOptions {
    std::string text;          ///< of --shard
    std::string plan_file;     ///< empty: the sources are scanned
    std::string job;           ///< empty: made from the names of the sources
    std::vector<Url> servers;  ///< empty: the server of the URL
    std::optional<Rate> rate;  ///< rate of all shards together

    std::optional<transfer::Shard> shard;
    transfer::Split split;        ///< for this number of shards; set once it is known
    std::uint64_t selection = 0;  ///< set by check_selection()

    void define(Flags& flags);
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
    /// If there are several servers, puts this shard's into the typed URL.
    void choose_server(Url& url) const;
    /// If shards start at the same time, one may find a directory that another has just made and take it for the parent
    /// of the tree. So the destination must be unambiguous. `inside`: it is a directory, whether it exists or not.
    [[nodiscard]] Result<void> check_place(const std::string& destination, bool inside) const;

  private:
    [[nodiscard]] std::string name_of(const std::vector<std::string>& sources) const;
};

/// --exclude-from: one rule per line, as rsync reads it: "- " and "+ " at the front set its kind, and "!" drops all
/// rules before it.
[[nodiscard]] Result<void> add_rules(transfer::FilterRules& rules, std::string_view text);
/// --files-from: one name per line, or separated by NUL. invalid_argument: a name leads out of the source.
[[nodiscard]] Result<std::vector<std::string>> parse_names(std::string_view text, bool by_nul);

struct TreeOptions {
    std::vector<std::string> excludes;
    std::vector<std::string> includes;
    std::vector<std::string> exclude_files;
    std::string names_file;
    bool archive = false;
    bool names_by_nul = false;
    bool links = false;
    bool no_links = false;
    bool safe_links = false;
    std::optional<transfer::Overwrite> overwrite;  ///< empty: diff, or always at a server
    ShardOptions shards;

    transfer::Selection what;  ///< without the sources; complete after the checks

    void define(Flags& flags, const std::string& overwrite_help);
    /// Only the flags that select entries.
    void define_selecting(Flags& flags);
    /// Converts what these flags have set. Reads the files that were named. `sources`: as for check().
    Result<void> check_selecting(const Flags& flags, std::size_t sources);
    /// Call it after the parse, because the app knows the order of the patterns. Reads the files that were named.
    /// `streaming`: one end is a pipe; otherwise `sources` is the number of sources.
    Result<void> check(const Flags& flags, bool streaming, std::size_t sources);
    /// The error "FLAG why" for the first typed flag that selects or compares entries.
    [[nodiscard]] static Result<void> refuse(const Flags& flags, const Origins& origins, const std::string& why);
    /// The selection without its sources, with the choices of `common`.
    [[nodiscard]] transfer::Selection selection(const CommonOptions& common) const;

  private:
    Result<void> collect_rules(const Flags& flags);
};

}  // namespace udtx::apps
