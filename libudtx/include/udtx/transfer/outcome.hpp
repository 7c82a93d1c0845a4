// The result of a transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// A file, directory or link that was not delivered.
struct FailedFile {
    std::string path;                     ///< path, unescaped; see escape_name()
    ErrorCode code = ErrorCode::file_io;  ///< class of the error
    std::string reason;                   ///< message for people; may come from the peer, see escape_line()
    int system_error = 0;                 ///< errno of the system call that failed at this end; 0: none
};

/// Properties of an entry other than its data. The values are those on the wire.
enum class Belonging : std::uint8_t { owner = 0, mode = 1, time = 2, attributes = 3, hard_link = 4 };
inline constexpr std::uint8_t kBelongings = 5;  ///< number of values of Belonging

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
