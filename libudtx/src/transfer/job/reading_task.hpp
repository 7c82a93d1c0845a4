// The sender's disk work as tasks: the sources are walked and read, or a pipe is, and what is to go is queued for the
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

/// Of the protocol thread, but for what says otherwise.
class ReadingTask {
  public:
    /// The last three outlive it. `stream`: the options' descriptor is read, and not the roots.
    ReadingTask(std::vector<SourceRoot> roots, bool stream, SendJobOptions& options, LateWaker& waker,
                JobReport& report);
    ~ReadingTask();
    ReadingTask(const ReadingTask&) = delete;
    ReadingTask& operator=(const ReadingTask&) = delete;

    /// Once. The lists of rules and names leave the options. `far`: as ReadOptions::far.
    void start(bool far);
    /// No more is read; the tasks end soon.
    void stop();
    /// All that there is to send, in order; none: there is no more of it yet.
    [[nodiscard]] std::optional<Outgoing> next() { return outgoing_.try_pop(); }
    /// The receiver gave up on this entry; its rest need not be sent.
    void skip(std::uint64_t index);

    [[nodiscard]] bool stream() const noexcept { return stream_; }
    /// Directories and links that were found.
    [[nodiscard]] std::uint64_t others() const noexcept { return scanner_ ? scanner_->others() : 0; }

    // --- any thread
    [[nodiscard]] ResumeAnswers& answers() noexcept { return answers_; }
    /// What ended the tasks before their time.
    [[nodiscard]] std::optional<Error> trouble() const;
    /// No disk call is under way for which the end would wait.
    [[nodiscard]] bool at_rest() const noexcept;
    /// Memory of answers, and of what waits to be read and to be sent.
    [[nodiscard]] std::uint64_t held() const { return answers_.held() + outgoing_.held() + scanned_.cost(); }
    /// A source file by the path under which it was announced; none and errno if there is none.
    [[nodiscard]] UniqueFd open_source(const std::string& path) const;

  private:
    void read_pipe();
    void read_tree(bool far);
    /// Calls `work` with the steps of a task, until one of them throws something.
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

    std::optional<DiskTask> scan_task_;  // last: they use what stands above
    std::optional<DiskTask> read_task_;
};

}  // namespace udtx::transfer
