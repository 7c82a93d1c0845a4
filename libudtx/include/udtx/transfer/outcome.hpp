// What became of a transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// An entry that was not delivered.
struct FailedFile {
    std::string path;  ///< unescaped, see escape_name()
    /// What is wrong. partial: the source changed while it was read or, at a receiver, the sender did not send it and
    /// knows why.
    ErrorCode code = ErrorCode::file_io;
    std::string reason;  ///< for people; may come from the peer, see escape_line()
};

/// What belongs to an entry beside its data. The values are those on the wire.
enum class Belonging : std::uint8_t { owner = 0, mode = 1, time = 2, attributes = 3, hard_link = 4 };
inline constexpr std::uint8_t kBelongings = 5;  ///< number of kinds

/// Entries that were delivered although this could not be set.
struct Unset {
    Belonging what = Belonging::owner;  ///< what could not be set
    std::uint64_t files = 0;            ///< number of files
    std::uint64_t directories = 0;      ///< number of directories
    std::uint64_t links = 0;            ///< number of symbolic links
    std::string first;                  ///< path of the first entry, unescaped
    std::string reason;                 ///< of the first entry
    /// Entries of all kinds.
    [[nodiscard]] std::uint64_t count() const noexcept { return files + directories + links; }
};
/// One line: "owner of 60 files could not be set, first 'x': Invalid argument".
[[nodiscard]] UDTX_EXPORT std::string describe(const Unset& unset);
/// Adds `more` to the element of its kind, or appends it.
UDTX_EXPORT void add(std::vector<Unset>& all, const Unset& more);

/// Most failures, and most warnings, that an Outcome lists.
inline constexpr std::size_t kMaxListedFailures = 1000;

/// Sender: regular files that earlier connections of the same transfer have sent (SentFiles).
struct SentEarlier {
    std::uint64_t files = 0;        ///< those that this connection has reached
    std::uint64_t bytes = 0;        ///< their sizes, holes included
    std::uint64_t stood_files = 0;  ///< of `files`: the receiver counts them as unchanged or skipped
    std::uint64_t stood_bytes = 0;  ///< of `bytes`: sizes of `stood_files`
    std::uint64_t stood_data = 0;   ///< bytes that were sent of `stood_files`
};

/// What came of a transfer. A file is delivered when its hash is verified, it is on disk, and it has its final name.
struct Outcome {
    /// ok: everything was delivered, and the receiver has confirmed that. partial: some entries were not delivered, see
    /// `failed`. Another error: what ended the transfer.
    Result<void> status;
    std::uint64_t files = 0;            ///< delivered, hard links included
    std::uint64_t directories = 0;      ///< delivered
    std::uint64_t links = 0;            ///< symbolic links delivered
    std::uint64_t bytes = 0;            ///< sizes of `files`, holes included
    std::uint64_t sent_bytes = 0;       ///< file bytes that were sent and written, each counted once
    std::uint64_t kept_bytes = 0;       ///< of `bytes` and of unfinished files: the receiver had them already
    std::uint64_t kept_files = 0;       ///< of `files`: an earlier run or connection had delivered them
    std::uint64_t kept_file_bytes = 0;  ///< of `bytes`: sizes of `kept_files`
    std::uint64_t unchanged = 0;        ///< files and links that were there and the same; not among `files`
    std::uint64_t skipped = 0;          ///< files and links that were not to be overwritten; not among `files`
    SentEarlier sent_earlier{};         ///< sender that dialled again
    std::uint64_t erased = 0;           ///< entries deleted because the sources do not have them
    bool continues = false;             ///< the receiver says that it keeps unfinished files for the same transfer
    bool dry_run = false;               ///< nothing was done: the counts say what would have been
    bool exact = false;                 ///< the counts are final; else there may be more at the receiver
    std::vector<FailedFile> failed;     ///< the first kMaxListedFailures entries that were not delivered
    std::uint64_t failed_count = 0;     ///< all entries that were not delivered
    std::uint64_t missing = 0;          ///< of `failed`, its first ones: sources that do not exist
    std::vector<Unset> unset;           ///< of what was delivered; one element for each kind
    std::vector<std::string> warnings;  ///< such as special files that were skipped; at most kMaxListedFailures
    Result<void> receipt{};             ///< what went wrong with the receipt
};

}  // namespace udtx::transfer
