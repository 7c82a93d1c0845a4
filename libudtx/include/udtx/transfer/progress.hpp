// The progress of a transfer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::transfer {

/// Phases of a transfer, in their order.
enum class Phase : std::uint8_t {
    connect,   ///< there is no connection yet
    transfer,  ///< data is sent; the tree may still be scanned, see Progress::totals_final
    flush,     ///< the receiver has all bytes, and writes them to disk
    verify,    ///< all files have their names; the final confirmation is missing
    done,      ///< the outcome is final
};
/// Name of the phase: "connect", "transfer" and so on.
[[nodiscard]] UDTX_EXPORT std::string_view to_string(Phase phase) noexcept;

/// How busy the receiver was, as fractions of the time, 0 to 1.
struct ReceiverLoad {
    double disk = 0.0;  ///< its writer was busy
    double cpu = 0.0;   ///< its protocol thread was running or waiting for a processor
};

/// What the sender last reported of one of its paths. The members mean the same as in PathStats.
struct SenderPath {
    PathId id;                                ///< which path; both ends use the same ids
    std::uint64_t sent_packets = 0;           ///< PathStats::sent_packets
    std::uint64_t lost_packets = 0;           ///< PathStats::lost_packets
    std::uint64_t retransmitted_packets = 0;  ///< PathStats::retransmitted_packets
    Rate mtr;                                 ///< CongestionReport::mtr
    std::uint32_t datagram_bytes = 0;         ///< PathStats::datagram_bytes
};

/// The progress of a whole job of shards, from the last report of each shard.
struct JobProgress {
    std::uint64_t job = 0;              ///< JobShard::job, or derived from it if each sender has its own key
    std::size_t index = 0;              ///< index of this shard
    std::size_t count = 0;              ///< number of shards
    std::size_t running = 0;            ///< shards that run
    std::size_t done = 0;               ///< shards that have delivered everything
    std::size_t failed = 0;             ///< shards that have ended otherwise, or no longer report
    std::uint64_t bytes_done = 0;       ///< bytes done in all shards that have started
    std::uint64_t bytes_total = 0;      ///< total bytes of these shards, as far as known
    std::uint64_t files_done = 0;       ///< files done; a part of a file counts as one
    std::uint64_t failures = 0;         ///< entries that were not delivered
    std::uint64_t bits_per_second = 0;  ///< rate at which data arrives, all running shards together
    std::size_t slowest = 0;            ///< index of the running shard with the longest remaining time at its rate
};

/// One consistent snapshot of a transfer. Ten snapshots per second cost little.
struct Progress {
    Phase phase = Phase::connect;          ///< current phase
    std::uint64_t files_done = 0;          ///< files delivered, see Outcome
    std::uint64_t files_total = 0;         ///< files found so far
    std::uint64_t bytes_done = 0;          ///< bytes verified and written at the receiver, as far as this end knows
    std::uint64_t bytes_sent = 0;          ///< sender: bytes passed to the transport
    std::uint64_t bytes_total = 0;         ///< bytes found so far, without holes
    std::uint64_t bytes_kept = 0;          ///< bytes that the receiver already has, or that are being compared with it
    std::uint64_t steps = 0;               ///< grows while an end works, also if it only compares or reads once more
    bool totals_final = false;             ///< true: all sources have been scanned
    std::optional<ReceiverLoad> receiver;  ///< sender: the receiver's last report
    std::optional<JobProgress> job;        ///< receiver of a shard: the progress of the job
    /// The paths of the data's direction, as the sender has reported them; after a confirmed transfer both ends have
    /// its last counters. A receiver's own PathStats count what it sent, such as acknowledgements.
    std::vector<SenderPath> sender;
    std::string current_name;  ///< current file, unescaped; see escape_name()
};

/// Receives the progress, see Events.
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace udtx::transfer
