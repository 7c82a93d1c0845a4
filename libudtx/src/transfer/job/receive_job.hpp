// The receiving side of a transfer, on one connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/thread_time.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/job/asked_for.hpp"
#include "transfer/job/job.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/landing/receive_ops.hpp"
#include "transfer/message/message_reader.hpp"
#include "transfer/message/message_writer.hpp"
#include "transfer/pieces/piece_assembler.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/stop_event.hpp"
#include "transfer/work_clock.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Where a pull goes to.
struct PullPlace {
    std::string directory;  ///< as in ReceiveOptions; empty: there is none, and the dry run makes none
    std::string rename;     ///< likewise
};
/// A pull: what the sender is asked for, and where that goes, once it has said what there is. `place` is called on the
/// protocol thread.
struct PullOrder {
    std::vector<Message> request;  ///< empty: it has been asked already
    AskedFor asked;                ///< whatever else comes ends the transfer
    std::function<Result<PullPlace>(const message::Sources&)> place;
};

struct ReceiveOptions {
    std::string directory;   ///< nothing is written outside of it; must exist, but for a dry run, where it may be empty
    std::string below{};     ///< of it, what is really meant: a directory to which no link leads. Empty: all of it
    bool to_stream = false;  ///< write the one incoming stream to `stream_fd` and touch no file
    int stream_fd = 1;       ///< not closed by the job
    /// The first component of every name that comes is replaced by this: the one source gets another name. Empty: none
    /// is.
    std::string rename{};
    bool resume = true;         ///< continue what an earlier run left, and leave something for a later one
    bool allow_erase = false;   ///< senders may use --delete
    std::uint64_t whose = 0;    ///< of the sender's key: transfer numbers are that key's; 0: all have the one key
    RoomLimits room{};          ///< of the disk, for senders
    bool keep_base = false;     ///< senders may not set mode, owner and time of `directory` itself
    bool allow_set_id = false;  ///< senders may have set-user-ID and set-group-ID bits set
    bool dry_run = false;       ///< that is what was asked for
    Overwrite overwrite = Overwrite::always;  ///< the stricter of this and the sender's
    Role role = Role::server;                 ///< our end of the connection
    ReceiptWriter* receipt = nullptr;         ///< notes what comes; outlives the job
    std::optional<PullOrder> pull{};          ///< with Role::client: directory and rename come from it
    /// The job is over when it has confirmed, and does not wait for the sender's close: nobody is told of it there.
    bool confirms_last = false;
    PlanCallback planned{};  ///< of a dry run that we asked for, and of a pull what was deleted
};

/// One job serves one connection and one transfer. The DoneCallback comes after the connection's end.
class ReceiveJob final : public Job {
  public:
    /// Opens the directory: file_io names what is wrong with it.
    static Result<std::unique_ptr<ReceiveJob>> create(ReceiveOptions options, DoneCallback done);
    /// Ends as after a lost connection: temporary files go.
    ~ReceiveJob() override;

    /// Before the first event: what was read of the control stream already.
    void begin_with(MessageReader read) { incoming_ = std::move(read); }

    /// A file of this transfer by its path below the destination; none and errno if there is none.
    [[nodiscard]] UniqueFd open_delivered(const std::string& path) const;

    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;

    /// Protocol thread: the sender is to keep to this rate from now on.
    void set_cap(Instant now, proto::Connection& connection, Rate cap);
    /// Any thread: the sender only measures the line; there is nothing to deliver.
    [[nodiscard]] bool is_probe() const noexcept { return probe_; }
    /// Any thread: so long the writer has been at work.
    [[nodiscard]] Duration written_for() const noexcept { return work_.busy(); }
    /// Any thread: memory that the sender made us hold, but for what the connection holds.
    [[nodiscard]] std::uint64_t held() const { return queue_.cost() + arriving_ + landed_; }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    ReceiveJob(ReceiveOptions options, std::optional<ConfinedDir> base, DoneCallback done);

    /// The file that EXTENTS, DIGESTS and FILE_END are about.
    struct CurrentFile {
        std::uint64_t index = 0;
        std::uint64_t size = 0;
        std::uint64_t announced_to = 0;  // file offset
        std::uint64_t announced = 0;     // bytes
        bool whole = false;
    };

    void on_stream(Instant now, proto::Connection& connection, StreamId id);
    /// Reads both ordered streams as far as the writer keeps up, then hands over what has become whole.
    void advance(Instant now, proto::Connection& connection);
    void read_control(Instant now, proto::Connection& connection);
    /// For the receipt, under the names that things have here.
    void note(const Message& message);
    /// To a message that was not taken.
    void give_answer(Instant now, proto::Connection& connection, const Error& error);
    /// It takes what we have to say, or has taken enough of it.
    [[nodiscard]] bool takes_answers(proto::Connection& connection) const;
    void read_data(Instant now, proto::Connection& connection);
    [[nodiscard]] bool too_far_ahead() const;
    Result<void> handle(const Message& message);
    Result<void> handle(const message::Offer& m);
    Result<void> handle(const message::Entry& m);
    Result<void> handle(const message::Extents& m);
    Result<void> handle(const message::Kept& m);
    Result<void> handle(const message::Query& m);
    Result<void> handle(const message::Meta& m);
    Result<void> handle(const message::Rules& m);
    void queue_rules(message::Rules m);
    Result<void> handle(const message::Unsent& m);
    Result<void> handle(const message::Digests& m);
    Result<void> handle(const message::FileEnd& m);
    Result<void> handle(const message::Finish& m);
    Result<void> handle(const message::Plan& m);
    Result<void> handle(const message::Note& m);
    Result<void> handle(const message::Unset& m);
    Result<void> handle(const message::Found& m);
    /// What there is to do: announced, or, if that is more, found by the sender.
    void tell_totals();
    /// The server's answer to our request.
    Result<void> handle(const message::Sources& m);
    /// Opens the control stream of a connection that we dialled, and says what we want.
    void begin(Instant now, proto::Connection& connection);
    Result<void> announce(const Extent& extent);
    /// A name that can be had, and that was asked for.
    Result<void> check_entry(EntryType type, const std::vector<std::string>& path, const std::string& target);
    /// As it is to be called here.
    [[nodiscard]] std::vector<std::string> renamed(std::vector<std::string> path) const;
    /// Between the last extent and this offset, if they do not meet.
    void note_hole(std::uint64_t end);
    /// Checks that an extent of the current file comes after the last one and inside of the file.
    Result<void> place(const Extent& extent, std::uint64_t longest);
    bool hand_over_pieces();  // true: there were some
    Result<void> finish_if_complete();
    /// What was delivered without all that belongs to it.
    void tell_unset(Instant now, proto::Connection& connection);
    void confirm(Instant now, proto::Connection& connection, message::Confirm message);
    /// What was asked for and has not come. Of that, what the sender is to be told.
    [[nodiscard]] std::vector<message::FileFailed> fail_absent(AskedFor::Questions questions);
    void send(Instant now, proto::Connection& connection, const Message& message);
    void send(Instant now, proto::Connection& connection, const MessageWriter& messages);
    /// What the disk tasks have for the sender.
    void pass_on(Instant now, proto::Connection& connection, ReceiveFeedback::News& news);
    [[nodiscard]] message::Totals totals();
    void tell_load(Instant now, proto::Connection& connection);
    void start_worker();
    /// The steps of task_.
    [[nodiscard]] DiskStep work();
    [[nodiscard]] std::unique_ptr<Landing> make_landing();
    /// False: another transfer is at it.
    [[nodiscard]] Result<bool> measure_quota(const DiskSlice& slice);
    [[nodiscard]] DiskStep keep_trouble(Error error) noexcept;
    void tell_trouble();
    /// Ends the job for a cause of our own, in good order.
    void fail(Instant now, proto::Connection& connection, const Error& cause);
    void on_reset(Instant now, proto::Connection& connection, std::uint64_t code);
    /// Has the worker tidy up, and the sender told what there is; the sender then closes.
    void wind_up(Instant now, proto::Connection& connection, const Error& cause);
    /// What comes after that counts no more, and unread it would stay in memory.
    void discard(proto::Connection& connection);
    void say_stopped(Instant now, proto::Connection& connection);
    /// Fails the job (once) and closes the connection at once.
    void end(Instant now, proto::Connection& connection, const Error& error);
    void on_closed(const proto::CloseReason& reason);
    /// The first cause stays.
    void set_status(Result<void> status);
    /// Ends what waits for a pipe, and lets the worker tidy up.
    void stop_work();
    /// When both the connection and the worker have ended.
    void settle_if_over(bool connection_over, bool worker_over);

    ReceiveOptions options_;
    std::optional<ConfinedDir> base_;
    DoneCallback done_;

    ReceiveFeedback feedback_{waker_};
    ReceiveQueue queue_{SIZE_MAX};   // the stream's window bounds the pieces, too_far_ahead() the rest
    std::optional<StopEvent> stop_;  // of a write to a pipe
    WorkClock work_;
    std::atomic<std::uint64_t> arriving_{0};  // bytes of pieces that are not whole, and of what is not announced
    std::atomic<std::uint64_t> landed_{0};    // bytes that the landing holds
    std::optional<DiskQuota::Look> look_;     // at what counts towards the quota, at the beginning
    std::unique_ptr<Landing> landing_;
    std::optional<Error> trouble_;  // what a step threw
    bool trouble_told_ = false;

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    std::optional<message::Offer> offer_;
    PieceAssembler assembler_;
    std::uint64_t next_index_ = 0;
    std::optional<CurrentFile> current_;
    message::Found announced_;  // and not taken back
    message::Found found_;      // by the sender
    std::optional<message::Finish> finish_;
    std::uint64_t absent_ = 0;  // of what was asked for
    std::size_t notes_ = 0;
    std::vector<Unset> sender_lacks_;  // what the sender could not read, and so knows
    bool placed_ = false;              // of a pull: the server has said what there is
    bool accepted_sent_ = false;
    bool finish_queued_ = false;
    bool data_ended_ = false;
    bool confirm_sent_ = false;
    std::optional<Error> winding_up_;  // why
    bool worker_idle_ = true;          // has tidied up, or never began
    bool stopped_sent_ = false;
    bool ended_ = false;
    Instant next_delivered_;
    message::Totals told_;
    struct LoadMark {
        Instant at;
        Duration worked{};
        Duration needed{};
    };
    std::optional<ThreadTime> thread_time_;  // of the protocol thread
    std::optional<LoadMark> load_mark_;
    Instant next_load_;
    std::optional<Rate> cap_;  // to be told as soon as there is somebody to tell
    std::atomic<bool> probe_{false};

    std::mutex status_mutex_;  // guards what follows
    std::optional<Result<void>> status_;
    bool connection_over_ = false;
    bool worker_over_ = true;
    bool settled_ = false;

    std::optional<DiskTask> task_;  // last: it uses what stands above
};

}  // namespace udtx::transfer
