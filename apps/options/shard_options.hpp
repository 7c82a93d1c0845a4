// Which part of a tree this process moves, of a job that many processes share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "udtx/result.hpp"
#include "udtx/transfer/shard.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct ShardOptions {
    // As typed; check() turns them into what follows.
    std::string text;
    std::string plan_file;
    std::string job;  ///< empty: the plan's own name

    std::optional<transfer::Shard> shard;
    transfer::Split split;

    void add_to(CLI::App& app);
    /// Reads the plan.
    Result<void> check();
    /// With a shard: what it moves.
    [[nodiscard]] std::optional<transfer::PathRange> part() const;
    /// Of the transfer to there; only with a shard.
    [[nodiscard]] std::uint64_t number(const std::string& destination) const;
    /// Of shards that begin at the same time one would find what another has just made, and take it for the place where
    /// the tree goes: the place has to be clear. `inside`: it is a directory, whether it exists or not.
    [[nodiscard]] Result<void> check_place(const std::string& destination, bool inside) const;
};

}  // namespace udtx::apps
