// Which part of a tree this process moves, of a job that many processes share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/url.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/job_shard.hpp"
#include "udtx/transfer/shard.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct ShardOptions {
    // As typed; check() turns them into what follows.
    std::string text;
    std::string plan_file;
    std::string job;           ///< empty: the names of the sources
    std::string rate_text;     ///< empty: none
    std::string servers_text;  ///< empty: the one of the URL

    std::optional<transfer::Shard> shard;
    Rate rate = Rate::infinite();  ///< of all shards together
    transfer::Split split;         ///< for as many, as soon as there is one

    void add_to(CLI::App& app);
    /// Reads the plan.
    Result<void> check();
    /// With a shard: what it moves.
    [[nodiscard]] std::optional<transfer::PathRange> part() const;
    /// What the receiver is told of it, for what goes to there; only with a shard.
    [[nodiscard]] transfer::JobShard of_job(const std::vector<std::string>& sources,
                                            const std::string& destination) const;
    /// Of the transfer to there; only with a shard.
    [[nodiscard]] std::uint64_t number(const std::vector<std::string>& sources, const std::string& destination) const;
    /// There is no plan: the sources are to be walked.
    [[nodiscard]] bool needs_split() const noexcept { return shard && plan_file.empty(); }
    /// Of several servers, the one that this shard talks to; `url` is what was typed.
    [[nodiscard]] Result<void> choose_server(std::optional<Url>& url) const;
    /// Of shards that begin at the same time one would find what another has just made, and take it for the place where
    /// the tree goes: the place has to be clear. `inside`: it is a directory, whether it exists or not.
    [[nodiscard]] Result<void> check_place(const std::string& destination, bool inside) const;

  private:
    [[nodiscard]] std::string name_of(const std::vector<std::string>& sources) const;
};

}  // namespace udtx::apps
