// The receiving side of a transfer, on one connection, and its disk work as a task.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/job/incoming.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/ids.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::transfer {

// The receiver's disk work as a task. The landing that the offer selects takes the operations from the protocol thread,
// one after the other.

/// Only the protocol thread calls it, except where a member says otherwise. After the destructor the landing has tidied
/// up.
class LandingTask {
  public:
    /// All arguments outlive it.
    LandingTask(const LandingOptions& options, LateWaker& waker, JobReport& job);
    ~LandingTask();
    LandingTask(const LandingTask&) = delete;
    LandingTask& operator=(const LandingTask&) = delete;

    [[nodiscard]] ReceiveQueue& queue() noexcept { return queue_; }
    [[nodiscard]] LandingReport& report() noexcept { return report_; }

    /// Call it once. `base`: null if no file is touched. The task calls `over` when it has tidied up.
    void start(const ConfinedDir* base, const message::Offer& offer, std::function<void()> over);
    [[nodiscard]] bool started() const noexcept { return task_.has_value(); }
    /// Ends the work: a blocked write to a pipe ends, and the landing tidies up.
    void stop();

    /// Any thread: how long it has worked.
    [[nodiscard]] Duration busy() const noexcept { return work_.busy(); }
    /// Any thread: memory of waiting operations and of the landing's records.
    [[nodiscard]] std::uint64_t held() const { return queue_.cost() + landed_; }

  private:
    [[nodiscard]] DiskStep step();
    [[nodiscard]] DiskStep work();
    [[nodiscard]] std::unique_ptr<Landing> make_landing();
    /// False: not finished, or another transfer measures at the moment; call it again.
    [[nodiscard]] Result<bool> measure_quota(const DiskSlice& slice);
    [[nodiscard]] DiskStep keep_trouble(Error error) noexcept;

    const LandingOptions& options_;
    ReceiveQueue queue_{SIZE_MAX};  // the stream's window bounds the pieces, Incoming the rest
    LandingReport report_;
    std::optional<StopEvent> stop_;  // ends a blocked write to a pipe
    WorkClock work_;
    const ConfinedDir* base_ = nullptr;
    std::optional<message::Offer> offer_;
    std::function<void()> over_;
    std::atomic<std::uint64_t> landed_{0};  // bytes that the landing holds
    std::optional<DiskQuota::Look> look_;   // measures the quota's use at the start
    std::unique_ptr<Landing> landing_;
    std::optional<Error> trouble_;  // what a step threw
    bool trouble_told_ = false;
    std::optional<DiskTask> task_;  // last: it uses the members above
};

// The receiving side of a transfer, on one connection.

/// What is known of one run, besides the options of the program.
struct ReceiveRun {
    std::optional<PullOrder> pull{};  ///< we connect, and the order decides directory and name; nullopt: a push
    FileCallback on_file{};           ///< gets the end of each file; any thread
};

/// One job serves one connection and one transfer. The DoneCallback follows the end of the connection.
class ReceiveJob final : public Job {
  public:
    /// Opens the directory; file_io names what is wrong with it.
    static Result<std::unique_ptr<ReceiveJob>> create(LandingOptions options, ReceiveRun run, DoneCallback done);
    /// Ends the job as a lost connection does: temporary files are removed.
    ~ReceiveJob() override;

    /// Call it before the first event, with the part of the control stream that was already read.
    void begin_with(MessageReader read) { reader_ = std::move(read); }

    /// Opens a file of this transfer by its path below the destination. On failure it returns none and sets errno.
    [[nodiscard]] UniqueFd open_delivered(const std::string& path) const;

    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;

    /// Protocol thread: tells the sender to keep to this rate from now on.
    void set_cap(Instant now, proto::Connection& connection, Rate cap);
    /// Any thread: true if the sender only measures the path and delivers nothing.
    [[nodiscard]] bool is_probe() const noexcept { return probe_; }
    /// Any thread: the receipt to write.
    [[nodiscard]] const std::optional<ReceiptFile>& receipt() const noexcept { return options_.receipt; }
    /// Any thread: how long the writer has worked.
    [[nodiscard]] Duration written_for() const noexcept { return landing_.busy(); }
    /// Any thread: memory that the sender makes us hold, without the connection's own.
    [[nodiscard]] std::uint64_t held() const { return landing_.held() + incoming_.held(); }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    /// Who works for the job. Its result is final when nobody does.
    enum class Works : std::uint8_t { connection, both, landing, nobody };
    static constexpr Step<Works> kWorksSteps[] = {{Works::connection, Works::both},
                                                  {Works::both, Works::connection},
                                                  {Works::both, Works::landing},
                                                  {Works::connection, Works::nobody},
                                                  {Works::landing, Works::nobody}};
    ReceiveJob(LandingOptions options, ReceiveRun run, std::optional<ConfinedDir> base, DoneCallback done);

    void on_stream(Instant now, proto::Connection& connection, StreamId id);
    /// Opens the control stream of a connection that we made, and sends our request.
    void begin(Instant now, proto::Connection& connection);
    /// Reads both ordered streams as far as the writer keeps up, then hands over complete pieces.
    void read_on(Instant now, proto::Connection& connection);
    void read_control(Instant now, proto::Connection& connection);
    void read_data(Instant now, proto::Connection& connection);
    /// After an accepted offer: starts the disk work and tells the sender.
    void go_along(Instant now, proto::Connection& connection);

    /// True if the sender reads our answers, so that few of them wait.
    [[nodiscard]] bool takes_answers(proto::Connection& connection) const;
    void send(Instant now, proto::Connection& connection, const Message& message);
    void send(Instant now, proto::Connection& connection, const MessageWriter& messages);
    /// Sends what the disk tasks report to the sender.
    void pass_on(Instant now, proto::Connection& connection, LandingReport::News& news);
    /// Reports entries that were delivered without some of their attributes.
    void tell_unset(Instant now, proto::Connection& connection);
    void confirm(Instant now, proto::Connection& connection, message::Confirm message);

    /// Ends the job for a cause on our side, in good order.
    void fail(Instant now, proto::Connection& connection, const Error& cause);
    /// Makes the worker tidy up and reports the result to the sender, which then closes.
    void wind_up(Instant now, proto::Connection& connection, const Error& cause);
    /// Drops later data: it does not count, and unread data would stay in memory.
    void discard(proto::Connection& connection);
    void say_stopped(Instant now, proto::Connection& connection);
    /// Fails the job (once) and closes the connection at once.
    void end(Instant now, proto::Connection& connection, const Error& error);
    void on_closed(const proto::CloseReason& reason);
    /// Keeps the first cause.
    void set_status(Result<void> status);
    [[nodiscard]] bool works(Works who) const;
    /// The connection or the landing works no more. A second call for the same one does nothing.
    void end_work(Works whose);

    const LandingOptions options_;
    ReceiveRun run_;
    std::optional<ConfinedDir> base_;
    DoneCallback done_;

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader reader_;
    JobLife life_;                      // on the protocol thread
    std::optional<Error> stopped_for_;  // why it winds up
    Instant next_delivered_;
    message::Totals told_;
    std::uint64_t told_steps_ = 0;
    Instant next_step_;
    LoadMeter load_;
    Instant next_load_;
    std::optional<Rate> cap_;  // sent as soon as the sender can be told
    std::atomic<bool> probe_{false};

    mutable Mutex status_mutex_;
    std::optional<Result<void>> status_ GUARDED_BY(status_mutex_);
    Lifecycle<kWorksSteps> works_ GUARDED_BY(status_mutex_){Works::connection};

    LandingTask landing_;  // its task uses the members above
    Incoming incoming_;
};

}  // namespace udtx::transfer
