// What is behind a Transfer: a protocol thread, the way to the other end, a job, and the thread that looks after them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/link.hpp"
#include "io/protocol_thread.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/probe_job.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/run/awaited.hpp"
#include "transfer/run/stall_watch.hpp"
#include "transfer/run/turn_thread.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

/// Order of calls: constructor, open_to_*(), one of set_job(), begun(). Then any thread may call what is below.
class TransferState {
  public:
    struct Setup {
        Events events;
        Duration patience{};
        /// After a cancel(): so long there is to tidy up and to be told what was delivered.
        Duration wind_up_within{};
        /// So long the peer is given to hear of the close of a transfer that went well.
        Duration leave_within{};
        Duration peer_within{};
    };
    explicit TransferState(Setup setup) : setup_(std::move(setup)) {}
    ~TransferState();
    TransferState(const TransferState&) = delete;
    TransferState& operator=(const TransferState&) = delete;

    Result<void> open_to_dial(const Credentials& credentials, const LinkOptions& link,
                              std::vector<proto::PathAddresses> ways, bool several);
    Result<void> open_to_wait(AwaitRequest& request);

    /// For the DoneCallback of the job.
    [[nodiscard]] DoneCallback job_done();
    /// Sources that are not there, as a sender tells of them; protocol thread.
    void note_missing(const std::vector<message::Sources::Missing>& missing);
    void set_job(std::unique_ptr<SendJob> job, const SendOptions& options);
    void set_job(std::unique_ptr<ReceiveJob> job, const std::optional<ReceiptFile>& receipt);
    void set_job(std::unique_ptr<ProbeJob> job);
    /// Starts it. Throws std::system_error where the process has no thread left.
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
    /// False: it was the last.
    [[nodiscard]] bool turn();
    void watch(Instant now, const Progress& progress);
    /// The other end is waited for, and has not come: only `peer_within` limits that.
    [[nodiscard]] bool nobody_yet() const;
    /// Nobody has come in time, or is wanted any more. True: so it is over.
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
    bool waits_ = false;  // for the other end, instead of dialling
    std::unique_ptr<Job> job_;
    SendJob* sender_ = nullptr;  // what job_ is; both null: it measures
    ReceiveJob* receiver_ = nullptr;
    ProbeJob* probe_ = nullptr;
    std::optional<ReceiptFile> receipt_;
    std::optional<SentFiles> sent_;  // the job uses it
    std::shared_ptr<io::Link> link_;
    std::shared_ptr<Awaited> awaited_;  // what link_ is, where the other end is waited for

    Instant start_{};
    StallWatch stall_;
    Instant next_told_{};
    bool settled_ = false;    // connection and receipt, at the end
    bool told_done_ = false;  // whoever set Events::done
    std::atomic<bool> job_done_{false};
    std::atomic<Instant> job_end_{};  // before job_done_ is set
    std::atomic<bool> done_{false};
    std::atomic<bool> stuck_{false};
    std::atomic<Duration> idle_{};
    std::atomic<Duration> handshake_{};

    mutable std::mutex mutex_;  // guards what follows
    mutable std::condition_variable changed_;
    std::optional<Error> cancelled_;
    std::optional<Rate> wanted_cap_;  // of what comes, for a connection that is still to come
    std::optional<Error> nobody_;     // came, and that is why
    Instant cancelled_at_{};
    bool closed_ = false;  // it was asked to end a second time
    std::vector<FailedFile> missing_;
    Result<void> receipt_status_;
    std::deque<std::function<void()>> when_done_;

    TurnThread turns_;  // last: it uses what stands above
};

}  // namespace udtx::transfer
