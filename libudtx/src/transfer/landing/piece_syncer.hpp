// Makes pieces of files under construction durable, on a thread of its own, and only then writes them into the journal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "os/unique_fd.hpp"
#include "transfer/resume/resume_journal.hpp"

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
    /// Does what was submitted, then ends the thread.
    ~PieceSyncer();
    PieceSyncer(const PieceSyncer&) = delete;
    PieceSyncer& operator=(const PieceSyncer&) = delete;

    /// Waits while too much is pending: it bounds what a killed receiver gets once more.
    void submit(Batch batch);
    /// Until everything submitted is in the journal.
    void flush();

  private:
    void run();

    ResumeJournal& journal_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> queue_;
    std::uint64_t pending_bytes_ = 0;
    bool busy_ = false;
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace udtx::transfer
