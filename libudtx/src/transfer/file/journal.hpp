// The format of a resume journal: what a receiver has on its disk of an unfinished transfer.
//
// The journal is .udtx-<transfer number, 16 hex digits>.journal (mode 0600) in the directory that takes the transfer.
// The receiver holds an flock on it. It has at most 128 MiB; data that no longer fits is not resumable.
//
// Its records are those of file/records.hpp:
//
// | type | record         | fields                                                                              |
// |------|----------------|-------------------------------------------------------------------------------------|
// | 1    | Header         | varint version, u64 transfer number, hash                                           |
// | 2    | Partial        | varint number, path                                                                 |
// | 3    | Piece          | varint number, varint offset, varint length, digest                                 |
// | 4    | Gone           | varint number                                                                       |
// | 6    | Rights         | path (no component: directory of the journal), varint mode without them, u8 lent    |
// | 7    | Done           | key, varint size, time of the source, digest of the file                            |
// | 8    | SharedPartial  | varint number, path, u64 (not 0) that makes the temporary file's name               |
//
// Numbers of Partial records ascend. Piece and Gone refer to such a number. All digests have the header's hash.
//
// A Piece follows an fdatasync of its temporary file, a Done follows a synced rename. So the journal itself needs no
// sync: a lost record costs its piece. The receiver cuts the file where a reader stops.
//
// The version is 3. A journal of another version is not used.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

inline constexpr std::uint64_t kJournalVersion = 3;

namespace record {
/// Only the first record is a Header.
struct Header {
    static constexpr std::uint8_t kType = 1;
    std::uint64_t version = kJournalVersion;
    std::uint64_t transfer = 0;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    static void fields(auto& io, auto& r) {
        io.varint(r.version);
        io.u64(r.transfer);
        io.hash(r.hash);
    }
};
/// A file under construction. Later records refer to it by `number`.
struct Partial {
    static constexpr std::uint8_t kType = 2;
    std::uint64_t number = 0;
    std::vector<std::string> path;
    static void fields(auto& io, auto& r) {
        io.varint(r.number);
        io.path(r.path);
        io.require([&] { return check_path(r.path).ok(); });
    }
};
/// A file under construction that other shards fill too.
struct SharedPartial {
    static constexpr std::uint8_t kType = 8;
    std::uint64_t number = 0;
    std::vector<std::string> path;
    std::uint64_t shared = 0;  ///< the number that makes the name of the temporary file; not 0
    static void fields(auto& io, auto& r) {
        io.varint(r.number);
        io.path(r.path);
        io.u64(r.shared);
        io.require([&] { return check_path(r.path).ok() && r.shared != 0; });
    }
};
/// This piece is on disk in the temporary file. A later record for the same offset replaces it.
struct Piece {
    static constexpr std::uint8_t kType = 3;
    std::uint64_t number = 0;
    ProvenPiece piece;
    static void fields(auto& io, auto& r) {
        io.varint(r.number);
        io.piece(r.piece);
    }
};
/// The temporary file is gone.
struct Gone {
    static constexpr std::uint8_t kType = 4;
    std::uint64_t number = 0;
    static void fields(auto& io, auto& r) { io.varint(r.number); }
};
/// A file without holes is on disk under its final name.
struct Done {
    static constexpr std::uint8_t kType = 7;
    std::uint64_t path_key = 0;
    std::uint64_t size = 0;
    FileTime mtime{};  ///< of the source
    Digest digest;     ///< of the file
    static void fields(auto& io, auto& r) {
        io.u64(r.path_key);
        io.varint(r.size);
        io.time(r.mtime);
        io.digest(r.digest);
    }
};
/// The owner was given more rights to a directory than its mode has, or they were taken back.
struct Rights {
    static constexpr std::uint8_t kType = 6;
    std::vector<std::string> path;  ///< empty: the directory of the journal
    std::uint32_t mode = 0;         ///< without these rights
    bool lent = false;
    static void fields(auto& io, auto& r) {
        io.path(r.path);
        io.require([&] { return r.path.empty() || check_path(r.path).ok(); });
        io.varint_to(kMaxMode, r.mode);
        io.byte(r.lent, true);
    }
};
}  // namespace record

using JournalRecord = std::variant<record::Header, record::Partial, record::SharedPartial, record::Piece, record::Gone,
                                   record::Done, record::Rights>;

/// The number that makes the name of the temporary file for this path. It is stable, so that another run finds the
/// file. It comes from a cryptographic hash, so that a peer that chooses number and paths of a transfer cannot choose
/// the name of another transfer's file. It is the first eight bytes of SHA-256(u64 transfer number | path).
[[nodiscard]] std::uint64_t temp_number(std::uint64_t transfer, std::string_view path);

/// The state after all records of a journal.
struct JournalImage {
    struct Partial {
        std::uint64_t number = 0;
        std::string path;
        std::unordered_map<std::uint64_t, ProvenPiece> pieces;  // by offset
        std::uint64_t shared = 0;  ///< see record::SharedPartial; 0: only this transfer fills it
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
    [[nodiscard]] std::uint64_t unique_for(const std::string& path) const { return temp_number(transfer_, path); }

    /// Records a new temporary file. Call it before its pieces are added and before it is done or gone. `shared`: see
    /// JournalImage::Partial.
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
    ResumeJournal(ConfinedDir root, std::uint64_t transfer, std::shared_ptr<void> claim, UniqueFd fd);
    /// Reads what an earlier run left, and returns a note for the user. `relinked`: that run's journal had another
    /// name, and was left alone.
    [[nodiscard]] std::string load(HashAlgorithm hash, bool relinked);
    void add(const JournalRecord& record) REQUIRES(mutex_);

    ConfinedDir root_;
    std::uint64_t transfer_;
    std::shared_ptr<void> claim_;  // the right of one job of this process to this transfer in this directory
    UniqueFd fd_;
    JournalImage earlier_;

    mutable Mutex mutex_;
    std::vector<std::byte> pending_ GUARDED_BY(mutex_);
    std::uint64_t end_ GUARDED_BY(mutex_) = 0;  // size of the file and of pending_
    std::uint64_t next_number_ GUARDED_BY(mutex_) = 0;
    struct Listed {
        std::uint64_t number = 0;
        bool shared = false;  // other shards fill it too
    };
    std::unordered_map<std::string, Listed> listed_ GUARDED_BY(mutex_);  // temporary files, by the path of the file
    std::uint64_t done_ GUARDED_BY(mutex_) = 0;
    bool broken_ GUARDED_BY(mutex_) = false;
};

/// Takes the transfer over from a job of this process, or from another process, that still has it. They need some time
/// to release it, and no thread should block meanwhile.
class ResumeJournal::Opening {
  public:
    /// `displaced` is called when another job of this process wants the transfer. That happens once or more often, on
    /// the thread of that job.
    Opening(ConfinedDir root, std::uint64_t transfer, HashAlgorithm hash, std::function<void()> displaced);
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

    /// nullopt: another owner has the transfer; try again in a while. Gives up some seconds after the first attempt.
    [[nodiscard]] std::optional<Opened> attempt();

  private:
    ConfinedDir root_;
    std::uint64_t transfer_;
    HashAlgorithm hash_;
    std::function<void()> displaced_;
    std::shared_ptr<void> claim_;                                 // null: another job of this process has the transfer
    bool relinked_ = false;                                       // a journal with another name was left alone
    std::optional<std::chrono::steady_clock::time_point> since_;  // start of the wait for the job, then for the process
};

}  // namespace udtx::transfer
