// What became of a transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct FailedFile {
    std::string path;  ///< unescaped
    ErrorCode code = ErrorCode::file_io;
    std::string reason;
};

/// What belongs to an entry beside its data. On the wire.
enum class Belonging : std::uint8_t { owner = 0, mode = 1, time = 2, attributes = 3, hard_link = 4 };
inline constexpr std::uint8_t kBelongings = 5;

/// Entries that arrived without one of these, which could not be set.
struct Unset {
    Belonging what = Belonging::owner;
    std::uint64_t files = 0;
    std::uint64_t directories = 0;
    std::uint64_t links = 0;
    std::string first;   ///< path of the first one, unescaped
    std::string reason;  ///< why not, of that one
    [[nodiscard]] std::uint64_t count() const noexcept { return files + directories + links; }
};
/// "owner of 60 files could not be set, first 'x': Invalid argument"
[[nodiscard]] UDTX_EXPORT std::string describe(const Unset& unset);
/// Adds to the one of its kind.
UDTX_EXPORT void add(std::vector<Unset>& all, const Unset& more);

/// Failures and warnings beyond so many are only counted.
inline constexpr std::size_t kMaxListedFailures = 1000;

/// Sender: regular files that an earlier connection of the same transfer had sent.
struct SentEarlier {
    std::uint64_t files = 0;  ///< that this connection has come to
    std::uint64_t bytes = 0;  ///< their apparent sizes
    /// Of them, those that the receiver counts as `unchanged` or `skipped`, and not among `files`.
    std::uint64_t stood_files = 0;
    std::uint64_t stood_bytes = 0;
    std::uint64_t stood_data = 0;  ///< what was sent of them
};

struct Outcome {
    /// ok: everything was delivered and confirmed. partial: some files were not (see failed). Otherwise what ended it.
    Result<void> status;
    std::uint64_t files = 0;        ///< delivered: verified, synced, under their final name
    std::uint64_t directories = 0;  ///< the same
    std::uint64_t links = 0;        ///< the same
    std::uint64_t bytes = 0;        ///< apparent sizes of the files delivered, holes included
    std::uint64_t sent_bytes = 0;   ///< file bytes that crossed the transport and were written, each counted once
    std::uint64_t kept_bytes = 0;   ///< of `bytes` and of files under construction: they were at the receiver
    /// Of `files`: an earlier run or connection had delivered them, as its journal proves.
    std::uint64_t kept_files = 0;
    std::uint64_t kept_file_bytes = 0;  ///< of `bytes`: theirs
    std::uint64_t unchanged = 0;        ///< files and links that were the same already; not among `files`
    std::uint64_t skipped = 0;          ///< those that stood there and were not to be overwritten; not among `files`
    SentEarlier sent_earlier{};
    std::uint64_t erased = 0;  ///< entries that were deleted since the sources do not have them
    bool continues = false;    ///< the same command, run again, sends only what is missing
    bool dry_run = false;      ///< nothing was done: what is counted would have been
    bool exact = false;        ///< the receiver's last word; before that the sender knows "at least"
    std::vector<FailedFile> failed;
    std::uint64_t failed_count = 0;
    std::uint64_t missing = 0;          ///< of them: sources that were asked for and are not there; they come first
    std::vector<Unset> unset;           ///< of what was delivered, one for each kind
    std::vector<std::string> warnings;  ///< special files skipped and the like; at most kMaxListedFailures
    Result<void> receipt{};             ///< what went wrong with the receipt that was asked for
};

}  // namespace udtx::transfer
