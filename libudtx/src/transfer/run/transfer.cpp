#include "udtx/transfer/transfer.hpp"
#include "base/thread_safety.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "base/state_access.hpp"
#include "io/connector.hpp"
#include "io/listening.hpp"
#include "io/path_plan.hpp"
#include "io/protocol_thread.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/run/job_watch.hpp"
#include "transfer/run/setup.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/log.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::transfer {
namespace {

/// Time for the receiver to tidy up and to report what it has.
constexpr Duration kAnswerWithin = std::chrono::milliseconds(1500);
/// Time for our own disk to commit complete files and to remove incomplete ones.
constexpr Duration kWindUpWithin = std::chrono::seconds(5);
/// After the confirmation only the receiver waits, for our close: this is time for three copies of it.
constexpr Duration kCloseSender = std::chrono::milliseconds(12);
/// Time for our confirmation to be sent, if no user there waits for the end of the connection.
constexpr Duration kCloseReceiver = std::chrono::milliseconds(10);
/// Time to close without the other side's answer, once the time to wind up is over.
constexpr Duration kCloseWithin = std::chrono::milliseconds(300);
constexpr Duration kLeastApart = std::chrono::milliseconds(100);

Outcome ended(const Result<Transfer>& transfer) {
    if (transfer) return transfer->wait();
    Outcome outcome;
    outcome.status = transfer.error();
    outcome.exact = true;
    return outcome;
}

}  // namespace

/// The side that waits for one connection: it takes the first one. A second one means that the peer gave up the first.
/// Connected here means: a peer has arrived, and its handshake is in progress.
class Awaited final : public io::SingleConnection {
  public:
    Awaited(io::Driver& driver, std::shared_ptr<proto::ConnectionHandler> handler, Connected connected, LogSink log)
        : SingleConnection(driver, std::move(handler), std::move(connected)), log_(std::move(log)) {}

    void begin() override {
        driver().on_trouble([this, self = shared_from_this()](const Error& why, bool over) {
            const Lock lock(failing_);
            if (over) failed_ = why;
        });
        // A second peer with the key is accepted only to be told to try again.
        driver().listen(2,
                        [this, self = shared_from_this()](proto::Connection& connection) { return take(connection); });
    }
    /// From now on no peer is taken. False: one has been taken. Any thread; the same holds for taken().
    [[nodiscard]] bool close_door() noexcept { return !taken_.exchange(true); }
    [[nodiscard]] bool taken() const noexcept { return taken_; }
    /// Why no peer can come any more; nullopt: one can. Any thread.
    [[nodiscard]] std::optional<Error> failed() const {
        const Lock lock(failing_);
        return failed_;
    }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        io::log_paths(log_, {}, true, event);
        if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
            note_closed(connection, closed->reason);
        }
        handler().on_event(now, connection, event);
    }

  private:
    std::shared_ptr<proto::ConnectionHandler> take(proto::Connection& connection) {
        if (taken_.exchange(true)) {
            // The key has one owner, so the peer has connected again, and the first connection can hardly be in use.
            suspect_end();
            return std::make_shared<TurnedAway>(
                Error{ErrorCode::no_resources, "an earlier connection of this transfer has not ended yet; try again"});
        }
        begun(connection);
        note_connected(monotonic_now(), connection);
        return shared_from_this();
    }

    const LogSink log_;
    std::atomic<bool> taken_{false};
    mutable Mutex failing_;
    std::optional<Error> failed_ GUARDED_BY(failing_);
};

/// What a Transfer has: a protocol thread, the connection to the other end, a job, and the thread that watches them.
///
/// Order of calls: constructor, connect() or listen(), and begin().
class TransferState final : public JobWatch {
  public:
    struct Times {
        Duration wind_up{};  ///< after a cancel(), to tidy up and to learn what was delivered
        Duration leave{};    ///< in which the peer can receive the close of a successful transfer
        Duration peer{};     ///< for a peer to connect, if this end waits for one
    };
    TransferState(const ConnectionOptions& connection, bool streams, Events events, Times times)
        : connection_options_(connection),
          patience_(connection.patience.value_or(streams ? Duration::zero() : kPatience)),
          events_(std::move(events)),
          times_(times) {}
    ~TransferState() {
        turns_.stop();
        if (protocol_) protocol_->stop(Duration::zero());
        job_.reset();
    }

    /// Opens the socket to connect over; it resolves the host's name.
    template <class Request>
    Result<void> connect(const Request& request) {
        auto candidates = plan_paths(request.host, request.port, request.peer);
        if (!candidates) return candidates.error();
        auto made = io::ProtocolThread::make(request.credentials, transport_config(connection_options_),
                                             {.socket = {}, .threads = connection_options_.threads});
        if (!made) return made.error();
        protocol_ = std::move(*made);
        if (auto opened = io::open_socket_for(protocol_->driver(), *candidates, request.peer.socket); !opened)
            return opened;
        make_connection_ = [this, candidates = std::move(*candidates), several = !request.peer.paths.empty(),
                            host = request.host, carriers = request.peer.carriers](
                               auto handler, auto connected) -> std::shared_ptr<io::SingleConnection> {
            return std::make_shared<io::Connector>(io::Connector::Setup{.driver = protocol_->driver(),
                                                                        .candidates = candidates,
                                                                        .several = several,
                                                                        .host = host,
                                                                        .carriers = carriers,
                                                                        .handler = std::move(handler),
                                                                        .connected = std::move(connected),
                                                                        .log = events_.log});
        };
        return {};
    }
    /// Opens the socket at which the peer is awaited.
    Result<void> listen(AwaitRequest& request) {
        auto made = io::ProtocolThread::make(request.credentials, transport_config(connection_options_),
                                             {.socket = {}, .threads = connection_options_.threads});
        if (!made) return made.error();
        protocol_ = std::move(*made);
        make_connection_ = [this](auto handler, auto connected) {
            return awaited_ = std::make_shared<Awaited>(protocol_->driver(), std::move(handler), std::move(connected),
                                                        events_.log);
        };
        const auto opened =
            io::open_to_listen(protocol_->driver(), request.listen, AddressChoice::any, std::move(request.socket));
        if (!opened) return opened;
        if (const auto local = protocol_->driver().local_address()) local_ = *local;
        return {};
    }

    /// Makes the job and starts the transfer, if its socket was `opened`. Throws std::system_error if the process
    /// cannot create a thread.
    template <class MakeJob>
    static Result<Transfer> begin(std::unique_ptr<TransferState> state, const Result<void>& opened,
                                  const MakeJob& make_job) {
        if (!opened) return opened.error();
        if (state->receipt_ && !StateAccess::of(*state->receipt_)->claim()) {
            return Error{ErrorCode::invalid_argument,
                         "the receipt belongs to another transfer: each transfer needs its own"};
        }
        auto job = make_job([over_at = state->over_at_, turns = &state->turns_] {
            *over_at = monotonic_now();
            turns->wake();
        });
        if (!job) return job.error();
        state->start(std::move(*job));
        return Transfer(std::move(state));
    }

    /// Keeps the receipt, which the job writes.
    void keep(const std::optional<ReceiptFile>& receipt) { receipt_ = receipt; }
    /// Records missing sources that a sender reports; protocol thread.
    void note_missing(const std::vector<message::Sources::Missing>& missing) {
        const Lock lock(mutex_);
        for (const auto& source : missing) {
            missing_.push_back({source.path, ErrorCode::file_io, "sender: " + source.reason});
        }
    }

  private:
    friend class Transfer;

    void start(std::unique_ptr<Job> job) {
        job_ = std::move(job);
        sender_ = dynamic_cast<SendJob*>(job_.get());
        receiver_ = dynamic_cast<ReceiveJob*>(job_.get());
        probe_ = dynamic_cast<ProbeJob*>(job_.get());
        start_ = monotonic_now();
        {
            const Lock lock(mutex_);
            life_.enter(JobStage::running);
        }
        // The connection does not own its handler: the handler is destroyed before the protocol thread.
        const std::shared_ptr<proto::ConnectionHandler> unowned(std::shared_ptr<void>(), job_.get());
        connection_ = make_connection_(unowned, [this](proto::Connection& connection, proto::Waker waker) {
            const Instant now = monotonic_now();
            handshake_ = now - connection.started();
            job_->set_waker(std::move(waker));
            const Lock lock(mutex_);
            if (wanted_cap_) receiver_->set_cap(now, connection, *wanted_cap_);
        });
        connection_->begin();
        protocol_->start();
        turns_.start([this] { return turn(); });
    }

    [[nodiscard]] bool done() const noexcept { return finishing_ > Finishing::publish; }

    void ask_to_end(const Error& why) override {
        connection_->act_last([this, why](Instant now, proto::Connection& connection) {
            job_->abort(now, connection, why.code, why.message);
        });
    }

    /// False: it was the last turn.
    [[nodiscard]] bool turn() {
        try {
            const Instant now = monotonic_now();
            if (never_came(now)) *over_at_ = now;
            if (job_over()) {
                finish();
                return false;
            }
            connection_->sample_stats();
            if (probe_ != nullptr) probe_->tick();
            watch(now, job_->progress());
            if (events_.progress && now >= next_told_) {
                next_told_ = now + std::max(events_.progress_every, kLeastApart);
                events_.progress(job_->progress());
            }
        } catch (const std::bad_alloc&) {
            // Memory may soon be free again; the next turn continues.
        }
        return true;
    }

    /// True while it waits for the other end to connect; only Times::peer limits that.
    [[nodiscard]] bool nobody_yet() const { return awaited_ && !awaited_->taken(); }

    /// Checks whether no peer came in time, or none is wanted any more. True: the transfer is over.
    [[nodiscard]] bool never_came(Instant now) {
        if (!nobody_yet()) return false;
        auto why_not = cancelled();
        if (!why_not) why_not = awaited_->failed();
        if (!why_not && now - start_ < times_.peer) return false;
        if (!awaited_->close_door()) return false;
        const Lock lock(mutex_);
        nobody_ =
            why_not.value_or(Error{ErrorCode::timeout, "no client connected within " + elapsed_text(times_.peer)});
        return true;
    }

    void watch(Instant now, const Progress& progress) {
        // The end of a lost connection does not count as progress.
        if (progress.phase == Phase::done || nobody_yet()) return;
        const bool connects = progress.phase == Phase::connect && !awaited_;
        idle_ = stall_.idle(now, progress);
        std::optional<Error> stalled;
        if (!connects && patience_ > Duration::zero() && idle() >= patience_) {
            stalled = Error{ErrorCode::timeout, "nothing moved for " + elapsed_text(patience_)};
        }
        press(now, stalled, times_.wind_up);
    }

    /// If memory runs out, the next call continues with the same step.
    void finish() {
        switch (finishing_.load()) {
            case Finishing::settle:
                connection_->sample_stats();
                protocol_->stop(job_->result().status.ok() ? times_.leave : io::kDrainAtMost);
                settle_receipt();
                finishing_ = Finishing::publish;
                [[fallthrough]];
            case Finishing::publish: {
                if (events_.progress) events_.progress(job_->progress());
                const Lock lock(mutex_);
                life_.enter(JobStage::ended);
                finishing_ = Finishing::tell;
                changed_.notify_all();
            }
                [[fallthrough]];
            case Finishing::tell:
                if (events_.done) {
                    const Outcome all = outcome();
                    finishing_ = Finishing::call;
                    events_.done(all);
                }
                finishing_ = Finishing::call;
                [[fallthrough]];
            case Finishing::call:
                break;
        }
        // No call is added after the transfer is done.
        for (;;) {
            std::function<void()> call;
            {
                const Lock lock(mutex_);
                if (when_done_.empty()) return;
                call = std::move(when_done_.front());
                when_done_.pop_front();
            }
            call();
        }
    }

    void settle_receipt() {
        if (!receipt_) return;
        Result<void> settled;
        try {
            const Outcome outcome = job_->result();
            const bool confirmed = outcome.status.ok() || outcome.status.error().code == ErrorCode::partial;
            bool nothing = !confirmed;
            {
                const Lock lock(mutex_);
                nothing = nothing || nobody_;
            }
            if (outcome.dry_run || nothing) receipt_->discard();
            if (outcome.dry_run) return;
            settled =
                nothing ? Error{ErrorCode::partial, "there is no receipt, because the transfer failed"}
                        : StateAccess::of(*receipt_)->finish([this](const std::string& path) {
                              return sender_ != nullptr ? sender_->open_source(path) : receiver_->open_delivered(path);
                          });
        } catch (const std::bad_alloc&) {
            receipt_->discard();
            settled = out_of_memory();
        }
        const Lock lock(mutex_);
        receipt_status_ = std::move(settled);
    }

    [[nodiscard]] Outcome outcome() const {
        Outcome outcome = job_->result();
        const Lock lock(mutex_);
        if (nobody_) outcome.status = *nobody_;
        // The job of a cancelled transfer that cannot end reports no error yet.
        if (cancelled_ && !done() && outcome.status.ok()) outcome.status = *cancelled_;
        if (receiver_ != nullptr) outcome.exact = done();
        outcome.receipt = receipt_status_;
        if (missing_.empty()) return outcome;
        outcome.missing = missing_.size();
        outcome.failed_count += missing_.size();
        outcome.failed.insert(outcome.failed.begin(), missing_.begin(), missing_.end());
        if (done() && outcome.status.ok()) {
            outcome.status = Error{ErrorCode::partial, "some of the requested names were not sent"};
        }
        return outcome;
    }

    const ConnectionOptions connection_options_;
    const Duration patience_;
    const Events events_;
    const Times times_;
    std::unique_ptr<io::ProtocolThread> protocol_;
    Address local_;
    std::function<std::shared_ptr<io::SingleConnection>(std::shared_ptr<proto::ConnectionHandler>,
                                                        std::function<void(proto::Connection&, proto::Waker)>)>
        make_connection_;
    std::unique_ptr<Job> job_;
    SendJob* sender_ = nullptr;  // what job_ is; only one of the three is set
    ReceiveJob* receiver_ = nullptr;
    ProbeJob* probe_ = nullptr;
    std::optional<ReceiptFile> receipt_;
    std::shared_ptr<io::SingleConnection> connection_;
    std::shared_ptr<Awaited> awaited_;  // what connection_ is, if the other end connects to us

    Instant next_told_{};
    /// The steps after the end of the job: settle connection and receipt, publish the outcome, call Events::done, and
    /// then those who wait.
    enum class Finishing { settle, publish, tell, call };
    std::atomic<Finishing> finishing_{Finishing::settle};
    std::atomic<Duration> handshake_{};

    mutable Condition changed_;                          // with mutex_
    std::optional<Rate> wanted_cap_ GUARDED_BY(mutex_);  // receive rate, for a connection that does not exist yet
    std::optional<Error> nobody_ GUARDED_BY(mutex_);     // why no peer connected
    std::shared_ptr<Channel> channel_ GUARDED_BY(mutex_);
    std::vector<FailedFile> missing_ GUARDED_BY(mutex_);
    std::deque<std::function<void()>> when_done_ GUARDED_BY(mutex_);

    TurnThread turns_;  // last: it uses the members above
};

Transfer::Transfer(std::unique_ptr<TransferState> state) : state_(std::move(state)) {}
Transfer::Transfer(Transfer&&) noexcept = default;
Transfer& Transfer::operator=(Transfer&&) noexcept = default;
Transfer::~Transfer() = default;

Progress Transfer::progress() const { return state_->job_->progress(); }
Outcome Transfer::outcome() const { return state_->outcome(); }
bool Transfer::done() const noexcept { return state_->done(); }

bool Transfer::wait(std::chrono::milliseconds at_most) const {
    const auto until = std::chrono::steady_clock::now() + at_most;
    const Lock lock(state_->mutex_);
    while (!done() && state_->changed_.wait_until(state_->mutex_, until)) {
    }
    return done();
}

Outcome Transfer::wait() const {
    {
        const Lock lock(state_->mutex_);
        while (!done()) state_->changed_.wait(state_->mutex_);
    }
    return outcome();
}

void Transfer::when_done(std::function<void()> call) {
    {
        const Lock lock(state_->mutex_);
        if (!done()) return state_->when_done_.push_back(std::move(call));
    }
    call();
}

void Transfer::cancel(ErrorCode code, const std::string& reason) {
    const Error why{code, reason};
    {
        const Lock lock(state_->mutex_);
        if (done()) return;
        if (state_->life_.goes_on()) {
            state_->life_.enter(JobStage::stopping);
            state_->cancelled_at_ = monotonic_now();
        }
        state_->cancelled_ = why;
    }
    state_->ask_to_end(why);
    state_->turns_.wake();
}

std::optional<Error> Transfer::cancelled() const { return state_->cancelled(); }

bool Transfer::stuck() const noexcept {
    const Lock lock(state_->mutex_);
    return state_->life_ == JobStage::closing && !state_->job_over() &&
           monotonic_now() - state_->cancelled_at_ >= state_->times_.wind_up + kCloseWithin;
}

void Transfer::set_max_rate(Rate rate) {
    if (!proto::may_cap(rate)) return;
    ReceiveJob* const receiver = state_->receiver_;
    if (receiver == nullptr) return state_->connection_->set_max_rate(rate);
    {
        const Lock lock(state_->mutex_);
        state_->wanted_cap_ = rate;
    }
    state_->connection_->act(
        [receiver, rate](Instant now, proto::Connection& connection) { receiver->set_cap(now, connection, rate); });
}

void Transfer::add_channel(const std::shared_ptr<Channel>& channel) {
    {
        const Lock lock(state_->mutex_);
        if (!channel || state_->channel_ == channel) return;
        state_->channel_ = channel;
    }
    state_->connection_->add_channel(channel);
}

void Transfer::presume_fresh() {
    if (state_->sender_ != nullptr) state_->sender_->presume_fresh();
}

void Transfer::suspect_peer() { state_->connection_->suspect_end(); }
std::optional<ConnectionStats> Transfer::stats() const { return state_->connection_->kept_stats(); }

Duration Transfer::stats_age() const {
    if (done()) return {};
    return std::max(monotonic_now() - state_->connection_->stats_at(), Duration::zero());
}

std::optional<Duration> Transfer::connected_for() const {
    const auto since = state_->connection_->connected_since();
    return since ? std::optional(monotonic_now() - *since) : std::nullopt;
}

std::optional<Duration> Transfer::handshake_time() const {
    const Duration time = state_->handshake_;
    return state_->awaited_ || time == Duration::zero() ? std::nullopt : std::optional(time);
}

bool Transfer::lost() const {
    if (state_->connection_->lost()) return true;
    const auto status = state_->job_->result().status;
    if (state_->awaited_ || status) return false;
    // The peer has waited in vain for this end, whose path, disk or process stood still. Its close may arrive before
    // this end notices the silence.
    const bool peer_gave_up = status.error().code == ErrorCode::timeout && connected_for() && !cancelled();
    return peer_gave_up || status.error().code == ErrorCode::going_away;
}

Duration Transfer::idle() const { return state_->idle(); }
Duration Transfer::elapsed() const { return state_->elapsed(); }
Address Transfer::local_address() const { return state_->local_; }
bool Transfer::heard() const noexcept { return state_->protocol_->driver().heard(); }
std::string Transfer::buffer_advice() const { return state_->protocol_->driver().buffer_advice(); }
Duration Transfer::protocol_time() const { return state_->protocol_->thread_time(); }

Duration Transfer::writing_time() const {
    return state_->receiver_ == nullptr ? Duration() : state_->receiver_->written_for();
}

Result<Transfer> start_send(SendRequest request) {
    return or_error([&]() -> Result<Transfer> {
        SendOptions& options = request.options;
        auto state = std::make_unique<TransferState>(
            request.peer.connection, is_stream(options.what), std::move(request.events),
            TransferState::Times{.wind_up = kAnswerWithin, .leave = kCloseSender, .peer = {}});
        const auto opened = state->connect(request);
        state->keep(options.receipt);
        return TransferState::begin(std::move(state), opened, [&](DoneCallback done) {
            SendRun run = run_of(options);
            return SendJob::create(std::move(options), std::move(run), std::move(done));
        });
    });
}

Result<Transfer> start_receive(ReceiveRequest request) {
    return or_error([&]() -> Result<Transfer> {
        auto state = std::make_unique<TransferState>(
            request.peer.connection, request.options.stream_fd.has_value(), std::move(request.events),
            TransferState::Times{.wind_up = kWindUpWithin,
                                 .leave = request.options.sender_started ? kCloseReceiver : io::kDrainAtMost,
                                 .peer = {}});
        auto order = pull_order(request, [self = state.get()](const auto& missing) { self->note_missing(missing); });
        if (!order) return order.error();
        const auto opened = state->connect(request);
        state->keep(request.options.receipt);
        return TransferState::begin(std::move(state), opened, [&](DoneCallback done) {
            return ReceiveJob::create(landing_of(request.options), {.pull = std::move(*order), .on_file = {}},
                                      std::move(done));
        });
    });
}

Result<Transfer> start_measure(MeasureRequest request) {
    return or_error([&]() -> Result<Transfer> {
        auto state = std::make_unique<TransferState>(
            request.peer.connection, false, std::move(request.events),
            TransferState::Times{.wind_up = kAnswerWithin, .leave = io::kDrainAtMost, .peer = {}});
        const auto opened = state->connect(request);
        return TransferState::begin(std::move(state), opened, [&](DoneCallback done) {
            return Result<std::unique_ptr<ProbeJob>>(std::make_unique<ProbeJob>(request.time, std::move(done)));
        });
    });
}

Result<Transfer> await_receiver(AwaitRequest request, SendOptions options, FoundSources found) {
    return or_error([&]() -> Result<Transfer> {
        auto state = std::make_unique<TransferState>(
            request.connection, is_stream(options.what), std::move(request.events),
            TransferState::Times{.wind_up = kWindUpWithin, .leave = io::kDrainAtMost, .peer = request.peer_within});
        const auto opened = state->listen(request);
        state->keep(options.receipt);
        if (!found.missing.empty()) options.what.erase = false;
        return TransferState::begin(std::move(state), opened, [&](DoneCallback done) {
            SendRun run = run_of(options, found);
            return SendJob::create(std::move(options), std::move(run), std::move(done));
        });
    });
}

Result<Transfer> await_sender(AwaitRequest request, LandingOptions options) {
    return or_error([&]() -> Result<Transfer> {
        auto state = std::make_unique<TransferState>(
            request.connection, options.stream_fd.has_value(), std::move(request.events),
            TransferState::Times{.wind_up = kWindUpWithin, .leave = io::kDrainAtMost, .peer = request.peer_within});
        const auto opened = state->listen(request);
        state->keep(options.receipt);
        return TransferState::begin(std::move(state), opened, [&](DoneCallback done) {
            return ReceiveJob::create(std::move(options), {}, std::move(done));
        });
    });
}

Outcome send(SendRequest request) { return ended(start_send(std::move(request))); }
Outcome receive(ReceiveRequest request) { return ended(start_receive(std::move(request))); }

void prepare() { io::ProtocolThread::prepare(); }

}  // namespace udtx::transfer
