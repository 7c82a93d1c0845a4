// What a transfer tells its user: progress while it runs and the outcome at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::transfer {

enum class Phase : std::uint8_t {
    connect,   ///< waiting for the peer
    transfer,  ///< bytes are moving (the tree may still be scanned: see totals_final)
    flush,     ///< every byte has come to the receiver, whose disk is at work
    verify,    ///< every file is in place; what is missing is the final confirmation
    done,
};
[[nodiscard]] std::string_view to_string(Phase phase) noexcept;

/// Parts of the time, 0 to 1.
struct ReceiverLoad {
    double disk = 0.0;  ///< its writer was at work
    double cpu = 0.0;   ///< its protocol thread was running or waiting for a processor
};

/// One consistent snapshot; cheap enough for ten a second.
struct Progress {
    Phase phase = Phase::connect;
    std::uint64_t files_done = 0;   ///< safe under their final name at the receiver
    std::uint64_t files_total = 0;  ///< known so far
    std::uint64_t bytes_done = 0;   ///< verified and written at the receiver (the sender learns it with a delay)
    std::uint64_t bytes_sent = 0;   ///< sender: handed to the transport
    std::uint64_t bytes_total = 0;  ///< known so far; holes of sparse files do not count
    std::uint64_t bytes_kept = 0;   ///< not sent since they are there, or read to see whether they are
    bool totals_final = false;
    std::optional<ReceiverLoad> receiver;  ///< sender: the latest that the receiver said of itself
    std::string current_name;              ///< as it is in the file system: escape it before it meets a terminal
};

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
[[nodiscard]] std::string describe(const Unset& unset);
/// Adds to the one of its kind.
void add(std::vector<Unset>& all, const Unset& more);

/// Failures beyond so many are only counted.
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
    std::uint64_t kept_files =
        0;  ///< of `files`: an earlier run or connection had delivered them, as its journal proves
    std::uint64_t kept_file_bytes = 0;  ///< of `bytes`: theirs
    std::uint64_t unchanged = 0;        ///< files and links that were the same already; not among `files`
    std::uint64_t skipped = 0;          ///< those that stood there and were not to be overwritten; not among `files`
    SentEarlier sent_earlier{};
    std::uint64_t erased = 0;  ///< entries that --delete took away
    bool continues = false;    ///< the same command, run again, sends only what is missing
    bool dry_run = false;      ///< nothing was done: what is counted would have been
    bool exact = false;        ///< the receiver's last word; before that the sender knows "at least"
    std::vector<FailedFile> failed;
    std::uint64_t failed_count = 0;
    std::vector<Unset> unset;           ///< of what was delivered, one for each kind
    std::vector<std::string> warnings;  ///< special files skipped and the like; at most kMaxListedFailures
};

enum class EntryType : std::uint8_t { directory = 0, file = 1, symlink = 2, hard_link = 3 };

/// In what an entry at the receiver is not as the sender's, and would be brought up to date. Bits; on the wire.
namespace change {
inline constexpr std::uint8_t kNew = 1;  ///< nothing of its kind stands there
inline constexpr std::uint8_t kContent = 2;
inline constexpr std::uint8_t kSize = 4;
inline constexpr std::uint8_t kTime = 8;
inline constexpr std::uint8_t kMode = 16;
inline constexpr std::uint8_t kOwner = 32;
inline constexpr std::uint8_t kGroup = 64;
inline constexpr std::uint8_t kAttributes = 128;
}  // namespace change

/// What a dry run found out about one entry, or what --delete did.
struct PlannedEntry {
    /// unchanged: no data goes, and nothing is made; its attributes may be set, as `changes` says.
    enum class Kind : std::uint8_t { send, update, make, unchanged, skip, erase };
    Kind kind = Kind::send;
    EntryType type = EntryType::file;
    std::uint8_t changes = 0;
    std::string path;  ///< unescaped
    std::uint64_t size = 0;
    std::string target{};  ///< of a symlink; of a hard link the path of the other name
};
/// `path` as an eraser tells it: a directory's ends with `/`.
[[nodiscard]] inline PlannedEntry erased_entry(std::string path) {
    const bool directory = path.ends_with('/');
    if (directory) path.pop_back();
    return {PlannedEntry::Kind::erase, directory ? EntryType::directory : EntryType::file, 0, std::move(path)};
}
/// Called on the protocol thread or on a disk thread.
using PlanCallback = std::function<void(const PlannedEntry&)>;

/// Called once, when result() is final; on the protocol thread or on a disk thread. It must not destroy the job.
using DoneCallback = std::function<void()>;

}  // namespace udtx::transfer
