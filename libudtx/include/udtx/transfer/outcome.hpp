// What a transfer did, does or would do: plan, progress, outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// Reports what a dry run would do to each entry, and what was deleted.

/// Type of an entry. The values are those on the wire.
enum class EntryType : std::uint8_t { directory = 0, file = 1, symlink = 2, hard_link = 3 };

/// Bits for the differences between the receiver's and the sender's entry. The values are those on the wire.
namespace change {
inline constexpr std::uint8_t kNew = 1;           ///< the receiver has no entry of this type
inline constexpr std::uint8_t kContent = 2;       ///< content of a file, or target of a link
inline constexpr std::uint8_t kSize = 4;          ///< size of a file
inline constexpr std::uint8_t kTime = 8;          ///< modification time
inline constexpr std::uint8_t kMode = 16;         ///< permissions
inline constexpr std::uint8_t kOwner = 32;        ///< user
inline constexpr std::uint8_t kGroup = 64;        ///< group
inline constexpr std::uint8_t kAttributes = 128;  ///< extended attributes
}  // namespace change

/// What a dry run would do to one entry, or an entry that was deleted (Selection::erase).
struct PlannedEntry {
    /// The planned action.
    enum class Kind : std::uint8_t {
        send,       ///< send a whole file
        update,     ///< send the parts of a file that differ
        make,       ///< create a directory or link
        unchanged,  ///< send no data; `changes` lists the properties to set
        skip,       ///< leave it, since it may not be overwritten
        erase,      ///< delete it
    };
    Kind kind = Kind::send;            ///< planned action
    EntryType type = EntryType::file;  ///< type of the entry
    std::uint8_t changes = 0;          ///< bits from namespace change
    std::string path;                  ///< path, unescaped
    std::uint64_t size = 0;            ///< size in bytes
    std::string target{};              ///< target of a symbolic link; for a hard link the path of the file's first name
};
/// Called on the protocol thread or on a disk thread. It must return soon and must not wait for the transfer.
using PlanCallback = std::function<void(const PlannedEntry&)>;

// The progress of a transfer.

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

// File names as text for people. A name is a byte string and may contain control sequences for a terminal.

/// Writes control bytes, backslashes and quotes in hexadecimal (`\x1b`). The name then cannot control a terminal or
/// forge a log line.
[[nodiscard]] UDTX_EXPORT std::string escape_name(std::string_view name);
/// Writes control bytes in hexadecimal. Use it for a whole line from the peer, whose names are already escaped.
[[nodiscard]] UDTX_EXPORT std::string escape_line(std::string_view line);
/// True if `name` is that of a temporary file or of a journal. Running and interrupted transfers have such files.
[[nodiscard]] UDTX_EXPORT bool is_transfer_file(std::string_view name);

// The result of a transfer.

/// A file, directory or link that was not delivered.
struct FailedFile {
    std::string path;                     ///< path, unescaped; see escape_name()
    ErrorCode code = ErrorCode::file_io;  ///< class of the error
    std::string reason;                   ///< message for people; may come from the peer, see escape_line()
    int system_error = 0;                 ///< errno of the system call that failed at this end; 0: none
};

/// Properties of an entry other than its data. The values are those on the wire.
enum class Belonging : std::uint8_t { owner = 0, mode = 1, time = 2, attributes = 3, hard_link = 4 };

/// Entries that were delivered without one of their properties.
struct Unset {
    Belonging what = Belonging::owner;  ///< the property that could not be set
    std::uint64_t files = 0;            ///< number of files
    std::uint64_t directories = 0;      ///< number of directories
    std::uint64_t links = 0;            ///< number of symbolic links
    std::string first;                  ///< path of the first entry, unescaped
    std::string reason;                 ///< error of the first entry
    /// Number of entries of all types.
    [[nodiscard]] std::uint64_t count() const noexcept { return files + directories + links; }
};
/// Formats one line: "owner of 60 files could not be set, first 'x': Invalid argument".
[[nodiscard]] UDTX_EXPORT std::string describe(const Unset& unset);
/// Adds `more` to the element with the same property, or appends it.
UDTX_EXPORT void add(std::vector<Unset>& all, const Unset& more);

/// Limit of the failures, and of the warnings, that an Outcome lists.
inline constexpr std::size_t kMaxListedFailures = 1000;

/// Sender: the regular files that earlier connections of the same transfer have sent (SentFiles).
struct SentEarlier {
    std::uint64_t files = 0;        ///< files of them that this connection has processed
    std::uint64_t bytes = 0;        ///< sizes of `files`, including holes
    std::uint64_t stood_files = 0;  ///< of `files`: those that the receiver now counts as unchanged or skipped
    std::uint64_t stood_bytes = 0;  ///< sizes of `stood_files`
    std::uint64_t stood_data = 0;   ///< bytes that were sent of `stood_files`
};

/// What the receiver recorded about the job of a shard when the shard ended.
struct JobState {
    std::uint64_t run = 0;  ///< identifies this run of the job: random, and the same for all its shards
    std::size_t index = 0;  ///< index of this shard
    std::size_t count = 0;  ///< number of shards
    /// Shards that have delivered everything. If `run` is JobShard::delivered_run, it may be lower than it was then.
    std::size_t done = 0;
    std::uint64_t waiting = 0;  ///< files that have no final name yet, because parts of them are missing
    /// True if all shards have delivered everything. This shard was then the last one.
    [[nodiscard]] bool complete() const noexcept { return done == count && waiting == 0; }
};

/// The result of a transfer. A file is delivered when its hash is verified, it is on disk, and it has its final name.
struct Outcome {
    /// ok: everything was delivered, and the receiver has confirmed it. partial: some entries were not delivered, see
    /// `failed`. Any other error ended the transfer.
    Result<void> status;
    std::uint64_t files = 0;            ///< delivered files, including hard links
    std::uint64_t directories = 0;      ///< directories that were made, or got other attributes
    std::uint64_t links = 0;            ///< delivered symbolic links
    std::uint64_t bytes = 0;            ///< sizes of `files`, including holes
    std::uint64_t sent_bytes = 0;       ///< file bytes that were sent and written, each counted once
    std::uint64_t kept_bytes = 0;       ///< bytes that the receiver already had, of `bytes` and of unfinished files
    std::uint64_t kept_files = 0;       ///< of `files`: those that an earlier run or connection delivered
    std::uint64_t kept_file_bytes = 0;  ///< sizes of `kept_files`
    std::uint64_t unchanged = 0;        ///< files and links that existed and were equal; not in `files`
    std::uint64_t unchanged_directories =
        0;                       ///< directories that existed with the same attributes; not in `directories`
    std::uint64_t skipped = 0;   ///< files and links that existed and may not be overwritten; not in `files`
    SentEarlier sent_earlier{};  ///< for a sender that has reconnected
    std::uint64_t erased = 0;    ///< entries deleted because the sources do not contain them
    bool continues = false;      ///< true: the receiver keeps unfinished files, so that the same transfer can continue
    bool dry_run = false;        ///< true: nothing was changed; the counts say what a real run would do
    bool exact = false;          ///< true: the counts are final; false: the receiver may have more
    std::vector<FailedFile> failed;  ///< the first kMaxListedFailures entries that were not delivered
    std::uint64_t failed_count = 0;  ///< number of all entries that were not delivered
    std::uint64_t missing = 0;       ///< the first `missing` elements of `failed` are sources that do not exist
    std::vector<Unset> unset;  ///< properties of delivered entries that could not be set; one element for each property
    std::optional<JobState> job{};      ///< of a shard, if the receiver can record its job
    std::vector<std::string> warnings;  ///< for example skipped special files; at most kMaxListedFailures
    Result<void> receipt{};             ///< error in writing the receipt
};

/// What became of one file, link or stream. Unchanged entries and directories have no event.
struct FileEvent {
    /// How it ended.
    enum class Result : std::uint8_t {
        delivered,  ///< it is on disk under its final name
        sent,       ///< it was sent; whether the other end has stored it is known from its Outcome only
        failed,     ///< it was not delivered, see `code` and `reason`
    };
    /// Which way it went, or was to go.
    enum class Direction : std::uint8_t { receive, send };
    std::string path{};                        ///< path, unescaped; "-" for a stream without a name; see escape_name()
    std::uint64_t bytes = 0;                   ///< its size, including holes; 0: failed
    Result result = Result::delivered;         ///< how it ended
    Direction direction = Direction::receive;  ///< which way it went
    ErrorCode code = ErrorCode::file_io;       ///< class of the error, if it failed
    std::string reason{};                      ///< message for people; may come from the peer, see escape_line()
};
/// Receives the events, on any thread.
using FileCallback = std::function<void(const FileEvent&)>;

}  // namespace udtx::transfer
