// How far a transfer is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Phases in their order.
enum class Phase : std::uint8_t {
    connect,   ///< there is no connection yet
    transfer,  ///< bytes move; the tree may still be scanned, see Progress::totals_final
    flush,     ///< the receiver has every byte, and writes
    verify,    ///< every file has its name; the last confirmation is missing
    done,      ///< the outcome is final
};
/// "connect", "transfer" and so on.
[[nodiscard]] UDTX_EXPORT std::string_view to_string(Phase phase) noexcept;

/// Parts of the time, 0 to 1, in which the receiver was busy.
struct ReceiverLoad {
    double disk = 0.0;  ///< its writer was at work
    double cpu = 0.0;   ///< its protocol thread was running or waiting for a processor
};

/// All shards of a job together, as one of them knows of the others: what each told last.
struct JobProgress {
    std::uint64_t job = 0;              ///< JobShard::job, or made of it where each sender has a key of its own
    std::size_t index = 0;              ///< this shard
    std::size_t count = 0;              ///< of shards
    std::size_t running = 0;            ///< these tell of themselves
    std::size_t done = 0;               ///< have delivered everything
    std::size_t failed = 0;             ///< have ended otherwise, or are silent
    std::uint64_t bytes_done = 0;       ///< of those that have begun
    std::uint64_t bytes_total = 0;      ///< the same, as far as it is known
    std::uint64_t files_done = 0;       ///< a part of a file counts as one
    std::uint64_t failures = 0;         ///< entries that did not arrive
    std::uint64_t bits_per_second = 0;  ///< arriving
    std::size_t slowest = 0;            ///< of those that run, the one with the longest way to go at its rate
};

/// One consistent snapshot; cheap enough for ten a second.
struct Progress {
    Phase phase = Phase::connect;          ///< what happens now
    std::uint64_t files_done = 0;          ///< delivered, see Outcome
    std::uint64_t files_total = 0;         ///< known so far
    std::uint64_t bytes_done = 0;          ///< verified and written at the receiver, as far as this end knows
    std::uint64_t bytes_sent = 0;          ///< sender: handed to the transport
    std::uint64_t bytes_total = 0;         ///< known so far, holes not included
    std::uint64_t bytes_kept = 0;          ///< that the receiver has, or that are read to see whether it has them
    bool totals_final = false;             ///< all sources have been scanned
    std::optional<ReceiverLoad> receiver;  ///< sender: as the receiver told last
    std::optional<JobProgress> job;        ///< receiver: of a shard
    std::string current_name;              ///< unescaped, see escape_name()
};

/// Told the progress, see Events.
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace udtx::transfer
