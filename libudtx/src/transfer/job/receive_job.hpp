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

#include "transfer/file/confined_dir.hpp"
#include "transfer/job/announcements.hpp"
#include "transfer/job/asked_for.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/landing_task.hpp"
#include "transfer/job/load_meter.hpp"
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/message/message_reader.hpp"
#include "transfer/message/message_writer.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/destination.hpp"

namespace udtx::transfer {

/// A pull: what the sender is asked for, and where that goes, once it has said what there is. `place` is called on the
/// protocol thread.
struct PullOrder {
    std::vector<Message> request;  ///< empty: it has been asked already
    AskedFor asked;                ///< whatever else comes ends the transfer
    std::function<Result<LandingPlace>(const message::Sources&)> place;
};

struct ReceiveJobOptions {
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
    static Result<std::unique_ptr<ReceiveJob>> create(ReceiveJobOptions options, DoneCallback done);
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
    [[nodiscard]] Duration written_for() const noexcept { return landing_.busy(); }
    /// Any thread: memory that the sender made us hold, but for what the connection holds.
    [[nodiscard]] std::uint64_t held() const { return landing_.held() + announcements_.held(); }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    ReceiveJob(ReceiveJobOptions options, std::optional<ConfinedDir> base, DoneCallback done);

    void on_stream(Instant now, proto::Connection& connection, StreamId id);
    /// Opens the control stream of a connection that we dialled, and says what we want.
    void begin(Instant now, proto::Connection& connection);
    /// Reads both ordered streams as far as the writer keeps up, then hands over what has become whole.
    void advance(Instant now, proto::Connection& connection);
    void read_control(Instant now, proto::Connection& connection);
    void read_data(Instant now, proto::Connection& connection);
    /// There is an offer that was taken: the disk work begins, and the sender hears of it.
    void go_along(Instant now, proto::Connection& connection);
    /// To a message that was not taken.
    void give_answer(Instant now, proto::Connection& connection, const Error& error);

    /// It takes what we have to say, or has taken enough of it.
    [[nodiscard]] bool takes_answers(proto::Connection& connection) const;
    void send(Instant now, proto::Connection& connection, const Message& message);
    void send(Instant now, proto::Connection& connection, const MessageWriter& messages);
    /// What the disk tasks have for the sender.
    void pass_on(Instant now, proto::Connection& connection, ReceiveFeedback::News& news);
    /// What was delivered without all that belongs to it.
    void tell_unset(Instant now, proto::Connection& connection);
    void confirm(Instant now, proto::Connection& connection, message::Confirm message);

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
    /// When both the connection and the worker have ended.
    void settle_if_over(bool connection_over, bool worker_over);

    ReceiveJobOptions options_;
    std::optional<ConfinedDir> base_;
    DoneCallback done_;

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    bool accepted_sent_ = false;
    bool confirm_sent_ = false;
    std::optional<Error> winding_up_;  // why
    bool worker_idle_ = true;          // has tidied up, or never began
    bool stopped_sent_ = false;
    bool ended_ = false;
    Instant next_delivered_;
    message::Totals told_;
    LoadMeter load_;
    Instant next_load_;
    std::optional<Rate> cap_;  // to be told as soon as there is somebody to tell
    std::atomic<bool> probe_{false};

    std::mutex status_mutex_;  // guards what follows
    std::optional<Result<void>> status_;
    bool connection_over_ = false;
    bool worker_over_ = true;
    bool settled_ = false;

    LandingTask landing_;  // its task uses what stands above
    Announcements announcements_;
};

}  // namespace udtx::transfer
