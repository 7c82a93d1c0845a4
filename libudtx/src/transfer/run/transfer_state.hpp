// Tells a peer that was not accepted why, and ends its connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/connector.hpp"
#include "io/protocol_thread.hpp"
#include "proto/application.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/probe_job.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/run/turn_thread.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

class TurnedAway final : public proto::ConnectionHandler {
  public:
    explicit TurnedAway(Error why) : why_(std::move(why)) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Closed>(event) || std::exchange(told_, true)) return;
        // Refuses like an endpoint that is full: the request itself was not the problem.
        if (why_.code == ErrorCode::network) return connection.refuse(now, why_.message);
        connection.close(now, static_cast<std::uint64_t>(close_code_for(why_.code)), why_.message);
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    Error why_;
    bool told_ = false;
};

// The side that waits for one connection: it takes the first one. A second one means that the peer gave up the first.

/// Connected here means: a peer has arrived, and its handshake is in progress.
class Awaited final : public io::Link {
  public:
    struct Setup {
        io::Driver& driver;
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::function<void(proto::Connection&, proto::Waker)> connected;
        LogSink log;  ///< for path events
    };
    explicit Awaited(Setup setup)
        : Link(setup.driver, std::move(setup.handler), std::move(setup.connected)), log_(std::move(setup.log)) {}

    void begin() override;
    /// From now on no peer is taken. False: one has been taken. Any thread; the same holds for taken().
    [[nodiscard]] bool close_door() noexcept { return !taken_.exchange(true); }
    [[nodiscard]] bool taken() const noexcept { return taken_; }
    /// Why no peer can come any more; nullopt: one can. Any thread.
    [[nodiscard]] std::optional<Error> failed() const;
    [[nodiscard]] bool lost() const override { return lost_; }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;

  private:
    std::shared_ptr<proto::ConnectionHandler> take(proto::Connection& connection);

    const LogSink log_;
    std::atomic<bool> taken_{false};
    mutable std::mutex failing_;  // guards failed_
    std::optional<Error> failed_;
    std::atomic<bool> lost_{false};
};

// The state of a Transfer: a protocol thread, the link to the other end, a job, and the thread that watches them.

/// Order of calls: constructor, open_to_*(), one of set_job(), begun(). After that any thread may call the functions
/// below begun().
class TransferState {
  public:
    struct Setup {
        Events events;
        Duration patience{};
        /// Time after a cancel() to tidy up and to learn what was delivered.
        Duration wind_up_within{};
        /// Time in which the peer can receive the close of a successful transfer.
        Duration leave_within{};
        Duration peer_within{};
    };
    explicit TransferState(Setup setup) : setup_(std::move(setup)) {}
    ~TransferState();
    TransferState(const TransferState&) = delete;
    TransferState& operator=(const TransferState&) = delete;

    Result<void> open_to_dial(const Credentials& credentials, const LinkOptions& link,
                              std::vector<proto::PathAddresses> ways, const DialOptions& dial);
    Result<void> open_to_wait(AwaitRequest& request);

    /// The DoneCallback to give to the job.
    [[nodiscard]] DoneCallback job_done();
    /// Records missing sources that a sender reports; protocol thread.
    void note_missing(const std::vector<message::Sources::Missing>& missing);
    void set_job(std::unique_ptr<SendJob> job, const SendOptions& options);
    void set_job(std::unique_ptr<ReceiveJob> job, const std::optional<ReceiptFile>& receipt);
    void set_job(std::unique_ptr<ProbeJob> job);
    /// Starts the transfer. Throws std::system_error if the process cannot create a thread.
    [[nodiscard]] static Transfer begun(std::unique_ptr<TransferState> state);

    [[nodiscard]] Progress progress() const { return job_->progress(); }
    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] bool done() const noexcept { return done_; }
    bool wait(std::chrono::milliseconds at_most) const;
    void wait() const;
    void when_done(std::function<void()> call);
    void cancel(ErrorCode code, const std::string& reason);
    [[nodiscard]] std::optional<Error> cancelled() const;
    [[nodiscard]] bool stuck() const noexcept { return stuck_ && !done_; }
    void set_max_rate(Rate rate);
    void presume_fresh();
    void suspect_peer();
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    [[nodiscard]] Duration stats_age() const;
    [[nodiscard]] std::optional<Duration> connected_for() const;
    [[nodiscard]] std::optional<Duration> handshake_time() const;
    [[nodiscard]] bool lost() const;
    [[nodiscard]] Duration idle() const noexcept { return idle_; }
    [[nodiscard]] Duration elapsed() const;
    [[nodiscard]] Address local_address() const { return local_; }
    [[nodiscard]] bool heard() const noexcept { return protocol_->driver().heard(); }
    [[nodiscard]] std::string buffer_advice() const { return protocol_->driver().buffer_advice(); }
    [[nodiscard]] Duration protocol_time() const { return protocol_->thread_time(); }
    [[nodiscard]] Duration writing_time() const;

  private:
    void make_link();
    void start();
    /// False: it was the last turn.
    [[nodiscard]] bool turn();
    void watch(Instant now, const Progress& progress);
    /// True while it waits for the other end to connect; only `peer_within` limits that.
    [[nodiscard]] bool nobody_yet() const;
    /// Checks whether no peer came in time, or none is wanted any more. True: the transfer is over.
    [[nodiscard]] bool never_came(Instant now);
    void ask_to_end(const Error& why);
    void tell_progress(Instant now);
    void finish();
    void settle_receipt();

    const Setup setup_;
    std::unique_ptr<io::ProtocolThread> protocol_;
    Address local_;
    std::vector<proto::PathAddresses> ways_;
    bool several_ = false;
    std::vector<Address> also_;  // as in DialOptions
    bool waits_ = false;         // for the other end, instead of connecting
    std::unique_ptr<Job> job_;
    SendJob* sender_ = nullptr;  // what job_ is; only one of the three is set
    ReceiveJob* receiver_ = nullptr;
    ProbeJob* probe_ = nullptr;
    std::optional<ReceiptFile> receipt_;
    std::optional<SentFiles> sent_;  // the job uses it
    std::shared_ptr<io::Link> link_;
    std::shared_ptr<Awaited> awaited_;  // what link_ is, if the other end connects to us

    Instant start_{};
    StallWatch stall_;
    Instant next_told_{};
    bool settled_ = false;    // connection and receipt are finished
    bool told_done_ = false;  // Events::done has been called
    std::atomic<bool> job_done_{false};
    std::atomic<Instant> job_end_{};  // set before job_done_
    std::atomic<bool> done_{false};
    std::atomic<bool> stuck_{false};
    std::atomic<Duration> idle_{};
    std::atomic<Duration> handshake_{};

    mutable std::mutex mutex_;  // guards the members below
    mutable std::condition_variable changed_;
    std::optional<Error> cancelled_;
    std::optional<Rate> wanted_cap_;  // receive rate, for a connection that does not exist yet
    std::optional<Error> nobody_;     // why no peer connected
    Instant cancelled_at_{};
    bool closed_ = false;  // it was asked to end a second time
    std::vector<FailedFile> missing_;
    Result<void> receipt_status_;
    std::deque<std::function<void()>> when_done_;

    TurnThread turns_;  // last: it uses the members above
};

}  // namespace udtx::transfer
