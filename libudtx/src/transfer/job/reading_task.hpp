// The sender's disk work as tasks. They walk and read the sources, or read a pipe, and queue the result for the
// protocol thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/pipe_reader.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_reader.hpp"
#include "udtx/result.hpp"

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

// What the receiver reports about a transfer, and what the sender does with it.

/// Protocol thread.
class Replies {
  public:
    /// All arguments outlive it.
    Replies(const SendJobOptions& options, ReadingTask& reading, JobReport& report)
        : options_(options), reading_(reading), report_(report) {}

    /// Everything was sent, so a confirmation may arrive from now on.
    void expect_confirmation(const message::Finish& sent) { sent_ = sent; }
    [[nodiscard]] bool all_sent() const noexcept { return sent_.has_value(); }

    /// Error protocol: a receiver never sends this message.
    Result<void> take(const Message& message);
    /// The last word, after which nothing follows: the status of the transfer, or why the receiver stopped.
    [[nodiscard]] const std::optional<Result<void>>& last_word() const noexcept { return last_word_; }
    [[nodiscard]] bool confirmed() const noexcept { return confirmed_; }

  private:
    Result<void> on_failure(const message::FileFailed& m);
    Result<void> on_confirm(const message::Confirm& m);
    void on_stopped(const message::Stopped& m);
    void on_resume(const message::Resume& m);
    Result<void> on_job(const message::Job& m);
    Result<void> on_erased(const message::Erased& m);
    /// Stores the receiver's own counts.
    void note(const message::Totals& totals);
    /// Checks that the counts match what was sent.
    [[nodiscard]] Result<void> check_counts(const message::Totals& totals) const;
    [[nodiscard]] Result<void> check_tree(const message::Totals& totals, bool all_well) const;
    void warn_of(const message::Totals& totals);

    const SendJobOptions& options_;
    ReadingTask& reading_;
    JobReport& report_;
    std::optional<message::Finish> sent_;
    std::optional<Result<void>> last_word_;
    bool confirmed_ = false;
    std::uint64_t failures_ = 0;
    std::uint64_t latest_failure_ = 0;  // the highest index of them
    std::uint64_t damaged_ = 0;         // pieces that the receiver's disk altered
};

}  // namespace udtx::transfer
