// The sender's disk work as tasks. They walk and read the sources, or read a pipe, and queue the result for the
// protocol thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/pipe_reader.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_reader.hpp"

namespace udtx::transfer {

struct SendJobOptions;

/// Only the protocol thread calls it, except where a member says otherwise.
class ReadingTask {
  public:
    /// The last three arguments outlive it. `stream`: it reads the options' descriptor instead of the roots.
    ReadingTask(std::vector<SourceRoot> roots, bool stream, SendJobOptions& options, LateWaker& waker,
                JobReport& report);
    ~ReadingTask();
    ReadingTask(const ReadingTask&) = delete;
    ReadingTask& operator=(const ReadingTask&) = delete;

    /// Call it once. It moves the lists of rules and names out of the options. `far`: as ReadOptions::far.
    void start(bool far);
    /// Stops reading; the tasks end soon.
    void stop();
    /// The next item to send, in order; nullopt: none is ready yet.
    [[nodiscard]] std::optional<Outgoing> next() { return outgoing_.try_pop(); }
    /// The receiver gave up on this entry, so its rest need not be sent.
    void skip(std::uint64_t index);

    [[nodiscard]] bool stream() const noexcept { return stream_; }
    /// Number of directories and links that were found.
    [[nodiscard]] std::uint64_t others() const noexcept { return scanner_ ? scanner_->others() : 0; }

    // --- any thread
    [[nodiscard]] ResumeAnswers& answers() noexcept { return answers_; }
    /// The error that ended the tasks early.
    [[nodiscard]] std::optional<Error> trouble() const;
    /// True if no disk call runs for which the destructor would wait.
    [[nodiscard]] bool at_rest() const noexcept;
    /// Memory of the answers, and of entries that wait to be read or sent.
    [[nodiscard]] std::uint64_t held() const { return answers_.held() + outgoing_.held() + scanned_.cost(); }
    /// Opens a source file by the path under which it was announced. On failure it returns none and sets errno.
    [[nodiscard]] UniqueFd open_source(const std::string& path) const;
    /// SourceRoot::place of the source that has the path; empty: several may. `source`: its index, if it is known.
    [[nodiscard]] std::string place_of(const std::string& path, std::optional<std::size_t> source) const;

  private:
    void read_pipe();
    void read_tree(bool far);
    /// Runs `work` as the steps of a task, until a step throws.
    void make_task(std::optional<DiskTask>& task, DiskTask::Work work);

    const std::vector<SourceRoot> roots_;
    const bool stream_;
    SendJobOptions& options_;
    LateWaker& waker_;
    JobReport& report_;
    ScanQueue scanned_{kMaxScanQueueBytes};
    OutgoingQueue outgoing_{kMaxOutgoingBytes};
    ResumeAnswers answers_;
    std::optional<Scanner> scanner_;
    std::optional<SourceReader> reader_;
    std::optional<PipeReader> pipe_;

    mutable std::mutex trouble_mutex_;
    std::optional<Error> trouble_;  // what a task has thrown

    std::optional<DiskTask> scan_task_;  // last: the tasks use the members above
    std::optional<DiskTask> read_task_;
};

}  // namespace udtx::transfer
