// Makes pieces of files under construction durable, as a task of its own, and only then writes them into the journal.
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
        /// Opened for this batch: an error of the disk is told once to each description of a file, and this one must
        /// not be taken from the sync before the rename.
        UniqueFd fd;
        std::string path;
        std::vector<ProvenPiece> pieces;
        std::uint64_t bytes = 0;
    };

    explicit PieceSyncer(ResumeJournal& journal);
    /// Does what was submitted.
    ~PieceSyncer();
    PieceSyncer(const PieceSyncer&) = delete;
    PieceSyncer& operator=(const PieceSyncer&) = delete;

    /// Waits while too much is pending: it bounds what a killed receiver gets once more.
    /// std::runtime_error: the task threw something, and nothing more is done.
    void submit(Batch batch);
    /// Until everything submitted is in the journal.
    void flush();

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep give_up(Error error) noexcept;
    void check_well() const;

    ResumeJournal& journal_;
    const std::size_t max_batches_;  // each has a descriptor
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> queue_;
    std::uint64_t pending_bytes_ = 0;
    bool busy_ = false;
    std::optional<Error> broken_;
    DiskTask task_;  // last: it uses what stands above
};

}  // namespace udtx::transfer
