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
#include "transfer/job/replies.hpp"
#include "transfer/message/message_reader.hpp"
#include "transfer/names.hpp"
#include "transfer/source/outgoing.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct SendJobOptions : Selection {
    /// Path below the receiver's directory; for "-" it names the file. Leading and trailing slashes are ignored.
    std::string destination;
    /// The same in each run of the same command, so that it continues where the last one ended; 0: it does not.
    std::uint64_t transfer = 0;
    bool fresh = false;                       ///< as SendJob::presume_fresh()
    int stream_fd = 0;                        ///< not closed by the job
    Role role = Role::client;                 ///< our end of the connection: the dialling one opens the control stream
    PlanCallback planned{};                   ///< of a dry run, and what was deleted
    SentNames* sent = nullptr;                ///< of all connections of this transfer; outlives the job
    ReceiptWriter* receipt = nullptr;         ///< notes what is sent; outlives the job
    bool only_finished = false;               ///< as in ScanOptions
    bool asked_for = false;                   ///< as in ReadOptions
    std::optional<message::Sources> found{};  ///< of a pull: the receiver is told first what there is
};

/// When the receiver has confirmed, the job closes the connection with code 0.
class SendJob final : public Job {
  public:
    /// Looks at the sources: invalid_argument or file_io names the one that is missing, unreadable or doubled.
    static Result<std::unique_ptr<SendJob>> create(SendJobOptions options, DoneCallback done);
    /// For a receiver that dialled and asked for these; it is told first what there is of them.
    static std::unique_ptr<SendJob> create_for_pull(SendJobOptions options, ConfinedSources sources, DoneCallback done);
    ~SendJob() override;

    /// Before the first event: what was read of the control stream already.
    void begin_with(MessageReader read) { incoming_ = std::move(read); }

    /// Any thread. Nothing of this transfer stands at the receiver: nothing is asked, and all of it sent. Were it not
    /// so, that would cost bytes: what stands there is then replaced as by any other run.
    void presume_fresh();

    /// When it is done: no disk call is under way for which its end would wait. Any thread.
    [[nodiscard]] bool at_rest() const noexcept { return reading_.at_rest(); }

    /// Any thread: memory that the receiver made us hold, but for what the connection holds.
    [[nodiscard]] std::uint64_t held() const { return reading_.held(); }

    /// A source file by the path under which it was announced; none and errno if there is none.
    [[nodiscard]] UniqueFd open_source(const std::string& path) const { return reading_.open_source(path); }

    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    SendJob(SendJobOptions options, std::vector<SourceRoot> roots, bool stream, DoneCallback done);

    void start(Instant now, proto::Connection& connection);
    /// Moves what the disk tasks have ready into the streams, as far as they take it.
    void pump(Instant now, proto::Connection& connection);
    void read_control(Instant now, proto::Connection& connection);
    Result<void> take(proto::Connection& connection, const Message& message);
    /// What the scanner has found, now and then.
    void tell_found(Instant now, proto::Connection& connection);
    void stop_reading();
    /// Ends the job (once) and closes the connection; an `error` without value is the orderly end.
    void end(Instant now, proto::Connection& connection, Result<void> status);
    void on_closed(const proto::CloseReason& reason);
    void settle(Result<void> status);

    SendJobOptions options_;
    DoneCallback done_;
    UniqueFd stream_file_;  // of a pull: what stream_fd is

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    std::optional<Outgoing> held_;    // taken from the queue, waiting for room in a stream
    std::optional<Error> giving_up_;  // we asked the receiver to stop, for this reason
    std::uint64_t queued_bytes_ = 0;
    message::Found told_;
    Instant next_found_;
    bool settled_ = false;

    ReadingTask reading_;  // its tasks use what stands above
    Replies replies_;
};

}  // namespace udtx::transfer
