// The sending side of a transfer, on one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/reading_task.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"
#include "transfer/source/outgoing.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct SendJobOptions : Selection {
    /// Path below the receiver's directory; for "-" it names the file. Leading and trailing slashes are ignored.
    std::string destination;
    /// The same in each run of one command, so that a run continues where the last one ended. 0: no continuation.
    std::uint64_t transfer = 0;
    bool fresh = false;                       ///< as SendJob::presume_fresh()
    int stream_fd = 0;                        ///< not closed by the job
    Role role = Role::client;                 ///< our end of the connection; the client opens the control stream
    PlanCallback planned{};                   ///< gets the plan of a dry run, and the deletions
    FileCallback on_file{};                   ///< gets the end of each file; any thread
    SentNames* sent = nullptr;                ///< of all connections of this transfer; outlives the job
    ReceiptWriter* receipt = nullptr;         ///< records what is sent; outlives the job
    bool only_finished = false;               ///< as in ScanOptions
    bool asked_for = false;                   ///< as in ReadOptions
    std::optional<message::Sources> found{};  ///< of a pull: the sources, which the receiver is told first
    std::vector<FailedFile> missing{};        ///< of a push: sources that were not found
};

/// When the receiver has confirmed, the job closes the connection with code 0.
class SendJob final : public Job {
  public:
    /// Checks the sources; invalid_argument or file_io says which one is empty, missing or unreadable.
    static Result<std::unique_ptr<SendJob>> create(SendJobOptions options, DoneCallback done);
    /// For a receiver that connected and requested these sources; it is told first which of them exist.
    static std::unique_ptr<SendJob> create_for_pull(SendJobOptions options, ConfinedSources sources, DoneCallback done);
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
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    SendJob(SendJobOptions options, std::vector<SourceRoot> roots, bool stream, DoneCallback done);

    void start(Instant now, proto::Connection& connection);
    void start_reading(const proto::Connection& connection);
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
    void stop_reading();
    /// Ends the job (once) and closes the connection; a `status` without error is the orderly end.
    void end(Instant now, proto::Connection& connection, Result<void> status);
    void on_closed(const proto::CloseReason& reason);
    void settle(Result<void> status);

    SendJobOptions options_;
    DoneCallback done_;
    UniqueFd stream_file_;  // owns stream_fd in a pull

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    std::optional<Outgoing> held_;    // taken from the queue, waiting for room in a stream
    std::optional<Error> giving_up_;  // why we asked the receiver to stop
    std::uint64_t queued_bytes_ = 0;
    message::Found told_;
    Instant next_found_;
    std::uint64_t told_steps_ = 0;
    std::uint64_t shown_bytes_ = 0;
    Instant next_step_;
    Instant next_paths_;
    bool reads_ = false;
    bool settled_ = false;

    ReadingTask reading_;  // its tasks use the members above
    Replies replies_;
};

}  // namespace udtx::transfer
