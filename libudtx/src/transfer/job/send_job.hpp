// The sending side of a transfer, on one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/job/confirmation.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/reader.hpp"
#include "transfer/source/scanner.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::transfer {

/// What is known of one run, besides the options of the program.
struct SendRun {
    /// The same in each run of one command, so that a run continues where the last one ended. 0: no continuation.
    std::uint64_t transfer = 0;
    /// If the receiver requested the transfer: what exists of its sources. It is told that first.
    std::optional<message::Sources> found{};
    std::vector<FailedFile> missing{};  ///< those of its sources that cannot be read; set both by set_found()
    Scanner::Unfinished unfinished = Scanner::Unfinished::warn;
    FileCallback on_file{};  ///< gets the end of each file; any thread

    void set_found(SourceShape shape, std::vector<FailedFile> unreadable);
};

/// The disk work as tasks, which walk and read the sources, or read a pipe, and queue the result for the protocol
/// thread. Only the protocol thread calls it, except where a member says otherwise.
class ReadingTask {
  public:
    /// The last four arguments outlive it. `stream`: it reads the options' descriptor instead of the roots.
    ReadingTask(std::vector<SourceRoot> roots, bool stream, const SendOptions& options, const SendRun& run,
                LateWaker& waker, JobReport& report);
    ~ReadingTask();
    ReadingTask(const ReadingTask&) = delete;
    ReadingTask& operator=(const ReadingTask&) = delete;

    /// Only the first call counts. `far`: as ReadRun::far.
    void start(bool far);
    /// Stops reading; the tasks end soon.
    void stop();
    /// The next item to send, in order; nullopt: none is ready yet.
    [[nodiscard]] std::optional<Outgoing> next() { return outgoing_.try_pop(); }
    /// The receiver gave up on this entry, so its rest need not be sent.
    void skip(std::uint64_t index) {
        if (reader_) reader_->skip(index);
    }

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
    void scan_tree(bool far);
    /// Runs `work` as the steps of a task, until a step throws.
    void make_task(std::optional<DiskTask>& task, DiskTask::Work work);

    const std::vector<SourceRoot> roots_;
    const bool stream_;
    const SendOptions& options_;
    const SendRun& run_;
    LateWaker& waker_;
    JobReport& report_;
    ScanQueue scanned_{kMaxScanQueueBytes};
    OutgoingQueue outgoing_;
    ResumeAnswers answers_;
    std::optional<Scanner> scanner_;
    std::unique_ptr<Reader> reader_;

    mutable Mutex trouble_mutex_;
    std::optional<Error> trouble_ GUARDED_BY(trouble_mutex_);  // what a task has thrown

    std::optional<DiskTask> scan_task_;  // last: the tasks use the members above
    std::optional<DiskTask> read_task_;
};

/// When the receiver has confirmed, the job closes the connection with code 0.
class SendJob final : public Job {
  public:
    /// Checks the sources; invalid_argument or file_io says which one is empty, missing or unreadable.
    static Result<std::unique_ptr<SendJob>> create(SendOptions options, SendRun run, DoneCallback done);
    /// For a server's client that requested these sources; it is told first which of them exist.
    static std::unique_ptr<SendJob> create_for_pull(PullWish wish, ConfinedSources sources, FileCallback on_file,
                                                    DoneCallback done);
    ~SendJob() override;

    /// Call it before the first event, with the part of the control stream that was already read.
    void begin_with(MessageReader read) { incoming_ = std::move(read); }

    /// Any thread. Assumes that the receiver has nothing of this transfer: it asks nothing and sends everything. A
    /// wrong assumption costs only bytes: existing files are then replaced as in any other run.
    void presume_fresh();

    /// For a job that is done: true if no disk call runs for which the destructor would wait. Any thread.
    [[nodiscard]] bool at_rest() const noexcept { return reading_.at_rest(); }

    /// Any thread: memory that the receiver makes us hold, without the connection's own.
    [[nodiscard]] std::uint64_t held() const { return reading_.held(); }

    /// Opens a source file by the path under which it was announced. On failure it returns none and sets errno.
    [[nodiscard]] UniqueFd open_source(const std::string& path) const { return reading_.open_source(path); }

    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;

  private:
    SendJob(SendOptions options, SendRun run, std::vector<SourceRoot> roots, bool stream, DoneCallback done);

    void start(Instant now, proto::Connection& connection);
    void start_reading(const proto::Connection& connection);
    /// Sends the messages on the control stream. False: that ended the job.
    bool say(Instant now, proto::Connection& connection, const MessageWriter& messages);
    void note_missing();
    /// Moves ready items from the disk tasks into the streams, as far as these have room.
    void pump(Instant now, proto::Connection& connection);
    void read_control(Instant now, proto::Connection& connection);
    Result<void> take(proto::Connection& connection, const Message& message);
    /// Reports the scanner's totals from time to time.
    void tell_found(Instant now, proto::Connection& connection);
    /// Reports the counters of the paths from time to time, or `at_once`.
    void tell_paths(Instant now, proto::Connection& connection, bool at_once);
    /// The counters to be told. This end's own report has them, too, so that both agree.
    std::vector<SenderPath> look_at_paths(const proto::Connection& connection);
    /// Ends the job (once) and closes the connection; a `status` without error is the orderly end.
    void end(Instant now, proto::Connection& connection, Result<void> status);
    void on_closed(const proto::CloseReason& reason);
    void settle(Result<void> status);

    const SendOptions options_;
    const SendRun run_;
    DoneCallback done_;
    UniqueFd stream_file_;  // owns stream_fd in a pull

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    std::optional<Outgoing> held_;  // taken from the queue, waiting for room in a stream
    JobLife life_;
    std::optional<Error> stopped_for_;  // why we asked the receiver to stop
    std::uint64_t queued_bytes_ = 0;
    message::Found told_;
    Instant next_found_;
    std::uint64_t told_steps_ = 0;
    std::uint64_t shown_bytes_ = 0;
    Instant next_step_;
    Instant next_paths_;

    ReadingTask reading_;  // its tasks use the members above
    Confirmation confirmation_;
};

/// Fills the path for some seconds with bytes that the receiver drops. It measures what the path can do, without a
/// file. Job gives the order of calls. Also call tick() from time to time, on any thread.
class ProbeJob final : public Job {
  public:
    /// Ends `time` after the handshake, or after some round trips if these take longer.
    ProbeJob(Duration time, DoneCallback done);

    void tick() { waker_.wake(); }

    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;

  private:
    void start(Instant now, proto::Connection& connection);
    void fill(proto::Connection& connection);
    void end(Result<void> status);

    Duration time_;
    DoneCallback done_;
    std::optional<StreamId> data_;
    Chunk block_;
    Instant connected_at_{};
    std::uint64_t written_ = 0;
    JobLife life_;
};

}  // namespace udtx::transfer
