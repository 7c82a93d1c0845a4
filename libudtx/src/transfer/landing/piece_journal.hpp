// Records for another run which pieces of files under construction are durable. A task syncs them first.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/landing/temp_file.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

/// Pieces of a temporary file that are written but not yet submitted to the journal.
struct UnsyncedPieces {
    std::vector<ProvenPiece> pieces;
    std::uint64_t bytes = 0;
    bool journaled = false;    ///< earlier pieces were submitted
    std::uint64_t shared = 0;  ///< see record::Partial
};

class PieceJournal {
  public:
    /// The references must outlive this object.
    PieceJournal(const ConfinedDir& root, ResumeJournal& journal);
    /// Completes what was submitted.
    ~PieceJournal();
    PieceJournal(const PieceJournal&) = delete;
    PieceJournal& operator=(const PieceJournal&) = delete;

    /// Records a piece that was written into the temporary file. It waits while too much is pending, which limits what
    /// is sent again after the receiver was killed. std::runtime_error: the task threw an exception and has stopped.
    void wrote(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced, ProvenPiece piece);
    /// Gives the file up for now, so that another run finds what is written. False: this run has recorded nothing.
    bool leave(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);
    /// Records that the temporary file is removed.
    void gone(const std::string& path) { journal_.add_gone(path); }
    void delivered(const record::Done& done) { journal_.add_done(done); }
    void flush_delivered() { journal_.flush(); }
    /// Completes the journal. Removes it if `all_done`, or if it says nothing.
    void close(bool all_done);

  private:
    struct Batch {
        /// Opened for this batch. The kernel reports a disk error once to each open description of a file, and this
        /// sync must not take the error away from the sync before the rename.
        UniqueFd fd;
        std::string path;
        std::vector<ProvenPiece> pieces;
        std::uint64_t bytes = 0;
    };
    void submit(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced);
    /// Waits until everything submitted is in the journal.
    void flush();
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep give_up(Error error) noexcept;
    void check_well() const REQUIRES(mutex_);

    const ConfinedDir& root_;
    ResumeJournal& journal_;
    const std::size_t max_batches_;  // each batch has a descriptor
    Mutex mutex_;
    Condition changed_;
    std::deque<Batch> queue_ GUARDED_BY(mutex_);
    std::uint64_t pending_bytes_ GUARDED_BY(mutex_) = 0;
    bool busy_ GUARDED_BY(mutex_) = false;
    std::optional<Error> broken_ GUARDED_BY(mutex_);
    DiskTask task_;  // last: it uses the members above
};

}  // namespace udtx::transfer
