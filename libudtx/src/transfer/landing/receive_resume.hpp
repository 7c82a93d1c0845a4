// A task that makes pieces of files under construction durable, and only then writes them to the journal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/landing/report.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_file.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

class PieceSyncer {
  public:
    struct Batch {
        /// Opened for this batch. The kernel reports a disk error once to each open description of a file, and this
        /// sync must not take the error away from the sync before the rename.
        UniqueFd fd;
        std::string path;
        std::vector<ProvenPiece> pieces;
        std::uint64_t bytes = 0;
    };

    explicit PieceSyncer(ResumeJournal& journal);
    /// Completes what was submitted.
    ~PieceSyncer();
    PieceSyncer(const PieceSyncer&) = delete;
    PieceSyncer& operator=(const PieceSyncer&) = delete;

    /// Waits while too much is pending, which limits what is sent again after the receiver was killed.
    /// std::runtime_error: the task threw an exception and has stopped.
    void submit(Batch batch);
    /// Waits until everything submitted is in the journal.
    void flush();

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep give_up(Error error) noexcept;
    void check_well() const;

    ResumeJournal& journal_;
    const std::size_t max_batches_;  // each batch has a descriptor
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> queue_;
    std::uint64_t pending_bytes_ = 0;
    bool busy_ = false;
    std::optional<Error> broken_;
    DiskTask task_;  // last: it uses the members above
};

// Uses the journal of an earlier run, and writes the journal for a later run. Runs in the writer's task.

/// Pieces of a temporary file that are written but not yet submitted to the journal.
struct UnsyncedPieces {
    std::vector<ProvenPiece> pieces;
    std::uint64_t bytes = 0;
    bool journaled = false;    ///< earlier pieces were submitted
    std::uint64_t shared = 0;  ///< see record::Partial
};

class ReceiveResume {
  public:
    using Reply = std::function<void(message::Answer)>;

    /// All references must outlive this object. `job`: the job's file for a shard, or null.
    ReceiveResume(const ConfinedDir& root, HashAlgorithm hash, ResumeJournal& journal, JobFile* job, Report& report);

    /// True if the journal knows the file. For a part of a file, the job's file may know it too.
    [[nodiscard]] bool knows(const std::string& path, const message::Query& query);
    /// True if the journal says that the file was delivered.
    [[nodiscard]] bool knows_whole(const std::string& path, const message::Query& query) const;
    /// Starts to read from disk what the journal claims about the file. go_on() answers with what is true.
    void answer(const message::Query& query, const Reply& reply);
    /// Reads one more piece for the latest answer. False: nothing is left to read.
    bool go_on(const Reply& reply);

    /// True if an earlier run left a temporary file that can be continued.
    [[nodiscard]] bool has_partial(const std::string& path) const {
        return !partials_.empty() && partials_.count(path_key(path)) > 0;
    }
    /// Call it if that file could not be continued after all.
    void forget_partial(const std::string& path) { partials_.erase(path_key(path)); }
    /// The digest of a piece on disk, if an answer has reported it.
    [[nodiscard]] std::optional<Digest> proven(const std::string& path, const Extent& piece) const;
    /// True if an answer has reported the file under its final name with that size.
    [[nodiscard]] const struct stat* proven_file(const std::string& path, std::uint64_t size) const;
    [[nodiscard]] std::uint64_t unique_for(const std::string& path) const { return journal_.unique_for(path); }

    /// Records a piece that was written into the temporary file.
    void wrote(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced, ProvenPiece piece);
    /// Gives the file up for now, so that another run finds what is written. False: there is nothing to find.
    bool leave(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);
    /// Records that the temporary file is removed.
    void gone(const std::string& path) { journal_.add_gone(path); }
    void delivered(const record::Done& done) { journal_.add_done(done); }
    void flush_delivered() { journal_.flush(); }
    /// Completes the journal. Removes it if `all_done`, or if it says nothing.
    void close(bool all_done);

  private:
    struct Partial {
        std::string path;
        std::unordered_map<std::uint64_t, ProvenPiece> pieces;  // by offset: claimed, then proven
        std::uint64_t shared = 0;
        bool proven = false;
    };
    /// A temporary file that is read for an answer.
    struct ProvingPieces {
        Partial* partial = nullptr;
        UniqueFd fd;
        std::vector<ProvenPiece> claimed{};
        std::size_t next = 0;
        message::Answer out{};
    };
    /// A file under its final name that is read for an answer.
    struct ProvingFile {
        std::uint64_t key = 0;
        std::uint64_t number = 0;
        const record::Done& done;
        UniqueFd fd;
        FileDigest digest;
        std::uint64_t offset = 0;
        struct stat st = {};
        bool whole = false;  // all blocks so far could be read
    };
    /// For a part of a file: adds what the job's file says about it.
    void learn_claims(const message::Query& query, const std::string& path);
    void begin(Partial& partial, std::uint64_t number);
    void prove_piece(const Reply& reply);
    void prove_block(const Reply& reply);
    void submit(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);

    const ConfinedDir& root_;
    HashAlgorithm hash_;
    ResumeJournal& journal_;
    JobFile* job_;
    Report& report_;
    PieceHasher hasher_;
    std::unordered_map<std::uint64_t, Partial> partials_;          // by path key
    std::unordered_map<std::uint64_t, struct stat> proven_files_;  // state before it was read, by path key
    std::optional<ProvingPieces> proving_pieces_;
    std::optional<ProvingFile> proving_file_;
    PieceSyncer syncer_;
};

}  // namespace udtx::transfer
