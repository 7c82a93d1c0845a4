// The content that exists at the receiver, and which bytes of it need not be sent: an existing file, a file that an
// earlier run delivered, or the temporary file that it left. Runs in the writer's task.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/disk_times.hpp"
#include "transfer/landing/report.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/shard/job_file.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// The bits of a file's mode that are set; 0: none, the umask decides.
[[nodiscard]] inline std::uint32_t bits_to_set(const message::Offer& agreed) noexcept {
    if (!agreed.preserve) return 0;
    return agreed.set_id ? mode_bits::kAll : mode_bits::kPermissions;
}

/// An existing file is no longer what an answer has reported.
[[nodiscard]] Error changed_here(const std::string& path);

class OldContent {
  public:
    using Reply = std::function<void(message::Answer)>;

    /// All of them must outlive this object. `journal`: null if nothing is resumed. `job`: the job's file for a shard.
    OldContent(const ConfinedDir& root, const message::Offer& agreed, Report& report, ResumeJournal* journal = nullptr,
               JobFile* job = nullptr);
    /// Called with the mode that a file that is the same otherwise is to get, if it has several names.
    using SharedMode = std::function<void(const std::string& path, std::uint32_t mode)>;
    void on_shared_mode(SharedMode shared) { shared_mode_ = std::move(shared); }

    /// Looks `path` up and does not follow symbolic links. False: it does not exist, or its directory cannot be opened.
    [[nodiscard]] bool look(const std::string& path, struct stat& st);
    /// True if `st`, from the latest look(), has the time `wanted` or what the file system stores for it.
    [[nodiscard]] bool has_time(const struct stat& st, const FileTime& wanted) {
        return times_.agree(parent_.fd.get(), st, wanted);
    }
    /// True if nothing may be overwritten and an entry exists at `path`, or above it in the place of a directory.
    [[nodiscard]] bool must_stay(const std::string& path);
    /// True if `path` is a directory.
    [[nodiscard]] bool is_directory(const std::string& path);
    /// True if size and time are sufficient proof and a file of that size and time exists. The time may also be what
    /// the file system stores for `mtime`.
    [[nodiscard]] bool is_same(const std::string& path, std::uint64_t size, const FileTime& mtime);

    /// True if the journal knows the file. For a part of a file, the job's file may know it too.
    [[nodiscard]] bool is_journaled(const std::string& path, const message::Query& query);
    /// True if the journal says that the file was delivered.
    [[nodiscard]] bool was_delivered(const std::string& path, const message::Query& query) const;
    /// True if an earlier run left a temporary file that can be continued.
    [[nodiscard]] bool has_partial(const std::string& path) const {
        return !partials_.empty() && partials_.count(path_key(path)) > 0;
    }
    /// Call it if that file could not be continued after all.
    void forget_partial(const std::string& path) { partials_.erase(path_key(path)); }
    /// True if an answer has reported pieces of that file.
    [[nodiscard]] bool has_proven(const std::string& path) const {
        const auto at = partials_.find(path_key(path));
        return at != partials_.end() && at->second.proven && !at->second.pieces.empty();
    }
    /// A piece of the temporary file is not what the earlier run had there.
    void overwritten(const std::string& path, std::uint64_t offset);

    /// Answers a query by what exists at its path. Returns the Holding of the last answer. nullopt: go_on() must hash
    /// blocks first and then answers.
    [[nodiscard]] std::optional<Holding> answer(const message::Query& query, const Reply& reply);
    /// Starts to read from disk what the journal claims about the file. go_on() answers with what is true.
    void answer_from_journal(const message::Query& query, const Reply& reply);
    /// Reads one more piece for the latest answer. False: nothing is left to read.
    bool go_on(const Reply& reply);

    /// The digest of a piece that an answer has reported.
    struct Proven {
        Digest digest;
        bool in_temporary = false;  ///< else in the existing file
    };
    [[nodiscard]] std::optional<Proven> proven(const std::string& path, const Extent& piece) const;
    /// The state before it was read of a file of that size, all of which an answer has reported.
    struct ProvenFile {
        struct stat st = {};
        bool delivered = false;  ///< by an earlier run
    };
    [[nodiscard]] std::optional<ProvenFile> proven_file(const std::string& path, std::uint64_t size) const;
    /// True if an answer has reported blocks of an existing file of that name.
    [[nodiscard]] bool has_reported(const std::string& path) const {
        return !files_.empty() && files_.count(path_key(path)) > 0;
    }
    /// Copies from the existing file that an answer has reported. file_io: it cannot be read or has changed since.
    Result<void> copy(const std::string& path, const Extent& extent, TempFile& to);
    /// Bytes of memory held for the answers, without names.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return blocks_ * sizeof(Digest) + files_.size() * (sizeof(Basis) + 64);
    }
    /// Call it after the last query and before the times of directories are set: it removes the probes of DiskTimes.
    void close() { times_.close(); }
    /// Drops what is stored about an existing file. Nobody asks for it again.
    void forget(const std::string& path);

  private:
    /// An existing file that an answer has reported.
    struct Basis {
        struct stat st = {};
        std::vector<Digest> blocks;
        bool whole = false;  // all blocks are hashed, and the file has the size that was asked for
    };
    /// A temporary file of an earlier run.
    struct Partial {
        std::string path;
        std::unordered_map<std::uint64_t, ProvenPiece> pieces;  // by offset: claimed, then proven
        std::uint64_t shared = 0;
        bool proven = false;
    };
    // Files that are read for an answer, one at a time.
    struct HashingBasis {
        std::string path;
        std::uint64_t size_asked = 0;
        std::uint64_t count = 0;  // number of blocks to hash
        UniqueFd fd;
        message::Answer out;
        Basis basis{};
        bool whole = false;  // no error so far
    };
    struct ProvingPartial {
        Partial* partial = nullptr;
        UniqueFd fd;
        std::vector<ProvenPiece> claimed;
        message::Answer out;
        std::size_t next = 0;
    };
    struct ProvingDelivered {
        std::uint64_t key = 0;
        std::uint64_t number = 0;
        const record::Done& done;
        UniqueFd fd;
        FileDigest digest;
        std::uint64_t offset = 0;
        struct stat st = {};
        bool whole = false;  // all blocks so far could be read
    };
    void set_mode(const std::string& path, const struct stat& st, std::uint32_t mode);
    /// The record of a delivery with that size and time; null: there is none.
    [[nodiscard]] const record::Done* delivery_of(const std::string& path, const message::Query& query) const;
    /// For a part of a file: adds what the job's file says about it.
    void learn_claims(const message::Query& query, const std::string& path);
    [[nodiscard]] bool hash_block(HashingBasis& file);
    // They return false when the answer is complete.
    bool read_more(HashingBasis& file, const Reply& reply);
    bool read_more(ProvingPartial& file, const Reply& reply);
    bool read_more(ProvingDelivered& file, const Reply& reply);

    const ConfinedDir& root_;
    const message::Offer& offer_;
    Report& report_;
    ResumeJournal* journal_;
    JobFile* job_;
    SharedMode shared_mode_ = [](const std::string&, std::uint32_t) {};
    PieceHasher hasher_;
    DiskTimes times_;
    std::variant<std::monostate, HashingBasis, ProvingPartial, ProvingDelivered> reading_;
    std::unordered_map<std::uint64_t, Basis> files_;            // by path key
    std::size_t blocks_ = 0;                                    // digests in files_, plus a fixed cost for each file
    std::unordered_map<std::uint64_t, Partial> partials_;       // by path key
    std::unordered_map<std::uint64_t, struct stat> delivered_;  // proven; state before it was read, by path key
    std::string directory_;                                     // directory of the latest look()
    OpenedFd parent_;                                           // its descriptor
};

class TargetTree;

/// Answers what the receiver has of a file that the sender might send: an existing file, or data that an earlier run
/// or another shard left.
class Holdings {
  public:
    using Reply = OldContent::Reply;

    /// `tree` must outlive this object.
    explicit Holdings(TargetTree& tree) : tree_(tree) {}

    void answer(const message::Query& query, const Reply& reply);
    /// Reads one more piece of a file for an answer. False: nothing is left to read.
    bool go_on(const Reply& reply);

    /// True if the answer was that the file system treats this name and another one as the same.
    [[nodiscard]] bool fell_together(const std::string& path) const;
    /// True if one of the first answers was that the existing entry stays. A file that was sent along with its query is
    /// then dropped.
    [[nodiscard]] bool stays(const message::Entry& entry, const std::string& path) const;

  private:
    /// True if the name is free and what is in its way can be removed. Otherwise it reports the failure.
    [[nodiscard]] bool may_come(const message::Query& query, const std::string& path);
    /// True if the journal of an earlier run knows the file, and no file at its path makes that useless.
    [[nodiscard]] bool is_journaled(const message::Query& query, const std::string& path);

    void note_stays(const message::Query& query, const std::string& path, Holding has);

    struct Stays {
        Holding has = Holding::same;
        std::uint64_t size = 0;
        FileTime mtime;
    };
    TargetTree& tree_;
    std::unordered_set<std::uint64_t> together_;      // by path key
    std::unordered_map<std::uint64_t, Stays> stays_;  // by path key
};

}  // namespace udtx::transfer
