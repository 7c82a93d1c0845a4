// The format of a resume journal: what a receiver has on its disk of an unfinished transfer.
//
// The journal is .udtx-<transfer number, 16 hex digits>.journal (mode 0600) in the directory that takes the transfer.
// The receiver holds an flock on it. It has at most 128 MiB; data that no longer fits is not resumable.
//
//   record = u16 length of body | u64 check | body
//   check  = first eight bytes of XXH3-128(body), seeded with the record's offset in the file
//   body   = u8 type | fields
//
// Integers are in network byte order. Encodings of fields:
//
//   varint   RFC 9000, section 16
//   path     varint number of components | for each: varint length, bytes
//   digest   varint length (16 or 32) | bytes
//   time     u64 seconds since 1970, two's complement | varint nanoseconds
//   hash     u8: 1 XXH3-128, 2 SHA-256
//   key      u64: first eight bytes of XXH3-128(path, components joined by '/')
//
// | type | record         | fields                                                                              |
// |------|----------------|-------------------------------------------------------------------------------------|
// | 1    | Header         | varint version, u64 transfer number, hash                                           |
// | 2    | Partial        | varint number, path                                                                 |
// | 3    | Piece          | varint number, varint offset, varint length, digest                                 |
// | 4    | Gone           | varint number                                                                       |
// | 5    | Done, obsolete | as type 7, with u64 nanoseconds since 1970 in place of the time; version 1 wrote it |
// | 6    | Rights         | path (no component: directory of the journal), varint mode without them, u8 lent    |
// | 7    | Done           | key, varint size, time of the source, digest of the file                            |
// | 8    | Partial,       | varint number, path, u64 (not 0) that makes the temporary file's name               |
// |      | shared         |                                                                                     |
//
// Numbers of Partial records ascend. Piece and Gone refer to such a number. All digests have the header's hash.
//
// A Piece follows an fdatasync of its temporary file, a Done follows a synced rename. So the journal itself needs no
// sync: a lost record costs its piece. A reader stops at the first record that is cut short, that its check rejects, or
// that contradicts the records before it. The receiver cuts the file there.
//
// This version of the program writes version 3. Versions 1 and 2 make the name of a temporary file in another way: see
// temp_number().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

inline constexpr std::uint64_t kJournalVersion = 3;  // versions 1 and 2 are read too
inline constexpr std::size_t kMaxRecordBytes = 8U << 10U;

namespace record {
/// Only the first record is a Header.
struct Header {
    std::uint64_t version = kJournalVersion;
    std::uint64_t transfer = 0;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
};
/// A file under construction. Later records refer to it by `number`.
struct Partial {
    std::uint64_t number = 0;
    std::vector<std::string> path;
    std::uint64_t shared = 0;  ///< other shards fill it too: the number that makes its name; 0: only this transfer
};
/// This piece is on disk in the temporary file. A later record for the same offset replaces it.
struct Piece {
    std::uint64_t number = 0;
    ProvenPiece piece;
};
/// The temporary file is gone.
struct Gone {
    std::uint64_t number = 0;
};
/// A file without holes is on disk under its final name.
struct Done {
    std::uint64_t path_key = 0;
    std::uint64_t size = 0;
    FileTime mtime{};  ///< of the source
    Digest digest;     ///< of the file
};
/// The owner was given more rights to a directory than its mode has, or they were taken back.
struct Rights {
    std::vector<std::string> path;  ///< empty: the directory of the journal
    std::uint32_t mode = 0;         ///< without these rights
    bool lent = false;
};
}  // namespace record

using JournalRecord =
    std::variant<record::Header, record::Partial, record::Piece, record::Gone, record::Done, record::Rights>;

/// Appends a record that begins at `offset` of its file: the length of the body, a check of body and offset, and the
/// body.
void append_framed(std::vector<std::byte>& out, std::uint64_t offset, std::span<const std::byte> body);
/// The body of the record at the beginning of `bytes`, which begins at `offset` of its file. nullopt: the record is
/// torn or altered.
[[nodiscard]] std::optional<std::span<const std::byte>> framed_at(std::span<const std::byte> bytes,
                                                                  std::uint64_t offset);
/// The size of a record with that body.
[[nodiscard]] std::size_t framed_bytes(std::span<const std::byte> body) noexcept;

/// Appends a record that begins at `offset` of the journal.
void append_record(std::vector<std::byte>& out, std::uint64_t offset, const JournalRecord& record);
/// Parses the body of a record whose check was right.
[[nodiscard]] Result<JournalRecord> parse_record(std::span<const std::byte> body);

/// The number that makes the name of the temporary file for this path. It is stable, so that another run finds the
/// file. It comes from a cryptographic hash, so that a peer that chooses number and paths of a transfer cannot choose
/// the name of another transfer's file. It is the first eight bytes of SHA-256(u64 transfer number | path). With a
/// journal of version 1 or 2 it is the transfer number XOR the path's key.
[[nodiscard]] std::uint64_t temp_number(const record::Header& header, std::string_view path);
/// As temp_number(), for a file that several shards of a job fill: the first eight bytes of SHA-256("shared", NUL, u64
/// job | path). It is never 0.
[[nodiscard]] std::uint64_t shared_temp_number(std::uint64_t job, std::string_view path);

/// The state after all records of a journal.
struct JournalImage {
    struct Partial {
        std::uint64_t number = 0;
        std::string path;
        std::unordered_map<std::uint64_t, ProvenPiece> pieces;  // by offset
        std::uint64_t shared = 0;
    };
    bool has_header = false;
    record::Header header;
    std::unordered_map<std::uint64_t, Partial> partials;    // by path key
    std::unordered_map<std::uint64_t, record::Done> done;   // by path key
    std::unordered_map<std::string, std::uint32_t> rights;  // modes to restore, by path of the directory
    std::uint64_t next_number = 0;                          ///< for the next Partial record
    std::size_t valid_bytes = 0;                            ///< up to here every record is whole and makes sense
    [[nodiscard]] bool empty() const noexcept { return partials.empty() && done.empty() && rights.empty(); }
};
/// Reads up to the first record that is torn, altered or contradictory. Ignores everything after it.
[[nodiscard]] JournalImage parse_journal(std::span<const std::byte> bytes);

// The journal of one transfer, a file in the directory that takes the transfer. It records what is proven on disk, so
// that another run does not send it again. Thread-safe, except while it is opened. Callers must sync data before they
// record it.

/// The limit of the file. Later records are dropped, and another run sends their data again.
inline constexpr std::size_t kMaxJournalBytes = 128U << 20U;

class ResumeJournal {
  public:
    struct Opened {
        std::unique_ptr<ResumeJournal> journal;  ///< null: this run cannot be resumed
        std::string note;                        ///< for the user, may be empty
    };
    class Opening;
    ~ResumeJournal();
    ResumeJournal(const ResumeJournal&) = delete;
    ResumeJournal& operator=(const ResumeJournal&) = delete;

    /// What earlier runs left.
    [[nodiscard]] const JournalImage& earlier() const noexcept { return earlier_; }
    /// The number that makes the name of a temporary file.
    [[nodiscard]] std::uint64_t unique_for(const std::string& path) const { return temp_number(header_, path); }

    /// Records a new temporary file. Call it before its pieces are added and before it is done or gone. `shared`: see
    /// record::Partial.
    void begin_partial(const std::string& path, std::uint64_t shared = 0);
    /// Records pieces that are synced.
    void add_pieces(const std::string& path, const std::vector<ProvenPiece>& pieces);
    void add_done(const record::Done& done);
    void add_gone(const std::string& path);
    /// Records that the owner's rights to a directory are about to be lent, or were taken back. `mode`: the mode
    /// without them. "" is the root.
    void add_rights(const std::string& directory, std::uint32_t mode, bool lent);
    /// Writes what was added since the last flush. Errors are not reported: they only cost a later run some blocks.
    void flush();
    /// True if another run would find something here.
    [[nodiscard]] bool worth_keeping() const;
    /// Removes the file and the temporary files that it lists, except those that other shards fill too. Nothing is
    /// added after that.
    void remove();

  private:
    /// The right of one job of this process to this transfer in this directory.
    class Claim;
    ResumeJournal(ConfinedDir root, std::uint64_t transfer, std::unique_ptr<Claim> claim);
    /// Returns "" or why the journal cannot be used. nullopt: another process still has it, and `wait` allows that.
    [[nodiscard]] std::optional<std::string> lock(bool wait);
    [[nodiscard]] std::string load(HashAlgorithm hash);
    void add(const JournalRecord& record);

    ConfinedDir root_;
    std::uint64_t transfer_;
    std::unique_ptr<Claim> claim_;
    UniqueFd fd_;
    std::string unlocked_;   // why there is no lock, if there is none
    bool relinked_ = false;  // the journal had another name, and was left alone
    JournalImage earlier_;
    record::Header header_;

    mutable std::mutex mutex_;  // guards all members below
    std::vector<std::byte> pending_;
    std::uint64_t end_ = 0;  // size of the file and of pending_
    std::uint64_t next_number_ = 0;
    std::unordered_map<std::string, std::uint64_t> numbers_;  // numbers of temporary files, by the path of the file
    std::unordered_set<std::string> shared_;                  // paths of those files that other shards fill too
    std::uint64_t done_ = 0;
    bool broken_ = false;
};

/// Takes the transfer over from a job of this process, or from another process, that still has it. They need some time
/// to release it, and no thread should block meanwhile.
class ResumeJournal::Opening {
  public:
    /// `displaced` is called when another job of this process wants the transfer. That happens once or more often, on
    /// the thread of that job.
    Opening(ConfinedDir root, std::uint64_t transfer, HashAlgorithm hash, std::function<void()> displaced);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

    /// nullopt: another owner has the transfer; try again in a while. Gives up some seconds after the first attempt.
    [[nodiscard]] std::optional<Opened> attempt();

  private:
    std::optional<ConfinedDir> root_;
    std::uint64_t transfer_;
    HashAlgorithm hash_;
    std::function<void()> displaced_;
    std::unique_ptr<ResumeJournal> journal_;                      // claimed, not locked yet
    std::optional<std::chrono::steady_clock::time_point> since_;  // start of the wait for the job, then for the process
};

}  // namespace udtx::transfer
