// A task that makes pieces of files under construction durable, and only then writes them to the journal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/resume/resume_journal.hpp"
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

}  // namespace udtx::transfer
