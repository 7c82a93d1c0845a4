#include "transfer/run/transfer_state.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "io/connector.hpp"
#include "io/listening.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/run/job_options.hpp"
#include "udtx/core/config_check.hpp"
#include "udtx/monotonic_clock.hpp"
#include "udtx/text.hpp"

namespace udtx::transfer {
namespace {

/// A second peer with the key is accepted only to be told to try again.
constexpr std::size_t kConnections = 2;

}  // namespace

void Awaited::begin() {
    driver().on_trouble([this, self = shared_from_this()](const Error& why, bool over) {
        const std::lock_guard lock(failing_);
        if (over) failed_ = why;
    });
    driver().listen(kConnections,
                    [this, self = shared_from_this()](proto::Connection& connection) { return take(connection); });
}

std::optional<Error> Awaited::failed() const {
    const std::lock_guard lock(failing_);
    return failed_;
}

std::shared_ptr<proto::ConnectionHandler> Awaited::take(proto::Connection& connection) {
    if (taken_.exchange(true)) {
        // The key has one owner, so the peer has connected again, and the first connection can hardly be in use.
        suspect_end();
        return std::make_shared<TurnedAway>(
            Error{ErrorCode::network, "an earlier connection of this transfer has not ended yet; try again"});
    }
    begun(connection);
    note_connected(monotonic_now(), connection);
    return shared_from_this();
}

void Awaited::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    io::log_paths(log_, {}, true, event);
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        lost_ = is_loss(closed->reason);
        note_closed(connection);
    }
    handler().on_event(now, connection, event);
}

namespace {

/// Time to close without the other side's answer, once the time to wind up is over.
constexpr Duration kCloseWithin = std::chrono::milliseconds(300);
constexpr Duration kLeastApart = std::chrono::milliseconds(100);

/// The link does not own its handler: the handler is destroyed before the protocol thread.
std::shared_ptr<proto::ConnectionHandler> unowned(Job& job) {
    return {std::shared_ptr<proto::ConnectionHandler>(), &job};
}

}  // namespace

TransferState::~TransferState() {
    turns_.stop();
    if (protocol_) protocol_->stop(Duration::zero());
    job_.reset();
}

Result<void> TransferState::open_to_dial(const Credentials& credentials, const LinkOptions& link,
                                         std::vector<proto::PathAddresses> ways, const DialOptions& dial) {
    auto made = io::ProtocolThread::make_open(credentials, transport_config(link), driver_options(link), ways);
    if (!made) return made.error();
    protocol_ = std::move(*made);
    ways_ = std::move(ways);
    several_ = !dial.paths.empty();
    also_ = dial.also;
    return {};
}

Result<void> TransferState::open_to_wait(AwaitRequest& request) {
    auto made =
        io::ProtocolThread::make(request.credentials, transport_config(request.link), driver_options(request.link));
    if (!made) return made.error();
    protocol_ = std::move(*made);
    waits_ = true;
    const auto opened =
        io::open_to_listen(protocol_->driver(), request.listen, AddressChoice::any, std::move(request.socket));
    if (!opened) return opened;
    if (const auto local = protocol_->driver().local_address()) local_ = *local;
    return {};
}

DoneCallback TransferState::job_done() {
    return [this] {
        job_end_ = monotonic_now();
        job_done_ = true;
        turns_.wake();
    };
}

void TransferState::note_missing(const std::vector<message::Sources::Missing>& missing) {
    const std::lock_guard lock(mutex_);
    for (const auto& source : missing) {
        missing_.push_back({source.path, ErrorCode::file_io, "sender: " + source.reason});
    }
}

void TransferState::set_job(std::unique_ptr<SendJob> job, const SendOptions& options) {
    sender_ = job.get();
    job_ = std::move(job);
    receipt_ = options.receipt;
    sent_ = options.sent;
}

void TransferState::set_job(std::unique_ptr<ReceiveJob> job, const std::optional<ReceiptFile>& receipt) {
    receiver_ = job.get();
    job_ = std::move(job);
    receipt_ = receipt;
}

void TransferState::set_job(std::unique_ptr<ProbeJob> job) {
    probe_ = job.get();
    job_ = std::move(job);
}

void TransferState::make_link() {
    const auto connected = [this](proto::Connection& connection, proto::Waker waker) {
        const Instant now = monotonic_now();
        handshake_ = now - connection.started();
        job_->set_waker(std::move(waker));
        const std::lock_guard lock(mutex_);
        if (wanted_cap_) receiver_->set_cap(now, connection, *wanted_cap_);
    };
    if (waits_) {
        link_ = awaited_ = std::make_shared<Awaited>(Awaited::Setup{.driver = protocol_->driver(),
                                                                    .handler = unowned(*job_),
                                                                    .connected = connected,
                                                                    .log = setup_.events.log});
        return;
    }
    link_ = std::make_shared<io::Dial>(io::Dial::Setup{.driver = protocol_->driver(),
                                                       .ways = std::move(ways_),
                                                       .several = several_,
                                                       .also = also_,
                                                       .handler = unowned(*job_),
                                                       .connected = connected,
                                                       .log = setup_.events.log});
}

Transfer TransferState::begun(std::unique_ptr<TransferState> state) {
    state->start();
    return Transfer(std::move(state));
}

void TransferState::start() {
    start_ = monotonic_now();
    make_link();
    link_->begin();
    protocol_->start();
    turns_.start([this] { return turn(); });
}

Outcome TransferState::outcome() const {
    Outcome outcome = job_->result();
    const std::lock_guard lock(mutex_);
    if (nobody_) outcome.status = *nobody_;
    // The job of a cancelled transfer that cannot end reports no error yet.
    if (cancelled_ && !done_ && outcome.status.ok()) outcome.status = *cancelled_;
    if (receiver_ != nullptr) outcome.exact = done_;
    outcome.receipt = receipt_status_;
    if (missing_.empty()) return outcome;
    outcome.missing = missing_.size();
    outcome.failed_count += missing_.size();
    outcome.failed.insert(outcome.failed.begin(), missing_.begin(), missing_.end());
    if (done_ && outcome.status.ok()) {
        outcome.status = Error{ErrorCode::partial, "some of the requested names were not sent"};
    }
    return outcome;
}

bool TransferState::wait(std::chrono::milliseconds at_most) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [this] { return done(); });
}

void TransferState::wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done(); });
}

void TransferState::when_done(std::function<void()> call) {
    {
        const std::lock_guard lock(mutex_);
        if (!done_) return when_done_.push_back(std::move(call));
    }
    call();
}

void TransferState::cancel(ErrorCode code, const std::string& reason) {
    Error why{code, reason};
    {
        const std::lock_guard lock(mutex_);
        if (done_) return;
        if (!cancelled_) cancelled_at_ = monotonic_now();
        cancelled_ = why;
    }
    ask_to_end(why);
    turns_.wake();
}

void TransferState::ask_to_end(const Error& why) {
    link_->act_last([this, why](Instant now, proto::Connection& connection) {
        job_->abort(now, connection, why.code, why.message);
    });
}

std::optional<Error> TransferState::cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
}

void TransferState::set_max_rate(Rate rate) {
    if (!proto::may_cap(rate)) return;
    if (receiver_ == nullptr) return link_->set_max_rate(rate);
    {
        const std::lock_guard lock(mutex_);
        wanted_cap_ = rate;
    }
    link_->act(
        [job = receiver_, rate](Instant now, proto::Connection& connection) { job->set_cap(now, connection, rate); });
}

void TransferState::presume_fresh() {
    if (sender_ != nullptr) sender_->presume_fresh();
}

void TransferState::suspect_peer() { link_->suspect_end(); }

std::optional<ConnectionStats> TransferState::stats() const { return link_->kept_stats(); }

Duration TransferState::stats_age() const {
    if (done_) return {};
    const Instant at = link_->stats_at();
    return std::max(monotonic_now() - at, Duration::zero());
}

std::optional<Duration> TransferState::connected_for() const {
    const auto since = link_->connected_since();
    if (!since) return std::nullopt;
    return monotonic_now() - *since;
}

std::optional<Duration> TransferState::handshake_time() const {
    const Duration time = handshake_;
    return waits_ || time == Duration::zero() ? std::nullopt : std::optional(time);
}

bool TransferState::lost() const {
    if (link_->lost()) return true;
    const auto status = job_->result().status;
    if (waits_ || status) return false;
    // The peer has waited in vain for this end, whose path, disk or process stood still. Its close may arrive before
    // this end notices the silence.
    const bool peer_gave_up = status.error().code == ErrorCode::timeout && connected_for() && !cancelled();
    return peer_gave_up || status.error().code == ErrorCode::going_away;
}

Duration TransferState::elapsed() const { return (job_done_ ? job_end_.load() : monotonic_now()) - start_; }

Duration TransferState::writing_time() const { return receiver_ == nullptr ? Duration() : receiver_->written_for(); }

bool TransferState::turn() {
    try {
        const Instant now = monotonic_now();
        if (never_came(now)) {
            job_end_ = now;
            job_done_ = true;
        }
        if (job_done_) {
            finish();
            return false;
        }
        link_->sample_stats();
        if (probe_ != nullptr) probe_->tick();
        watch(now, job_->progress());
        tell_progress(now);
    } catch (const std::bad_alloc&) {
        // Memory may soon be free again; the next turn continues.
    }
    return true;
}

bool TransferState::nobody_yet() const { return awaited_ && !awaited_->taken(); }

bool TransferState::never_came(Instant now) {
    if (!nobody_yet()) return false;
    const auto cancelled = this->cancelled();
    const auto failed = awaited_->failed();
    if (!cancelled && !failed && now - start_ < setup_.peer_within) return false;
    if (!awaited_->close_door()) return false;
    const std::lock_guard lock(mutex_);
    nobody_ = cancelled ? *cancelled
              : failed  ? *failed
                        : Error{ErrorCode::timeout, "no client connected within " + elapsed_text(setup_.peer_within)};
    return true;
}

void TransferState::watch(Instant now, const Progress& progress) {
    // The end of a lost connection does not count as progress.
    if (progress.phase == Phase::done) return;
    if (nobody_yet()) return;
    const bool dialling = progress.phase == Phase::connect && !waits_;
    idle_ = stall_.idle(now, progress);
    std::optional<Error> why;
    {
        const std::lock_guard lock(mutex_);
        if (!cancelled_) {
            const bool patient = dialling || setup_.patience <= Duration::zero();
            if (patient || idle_.load() < setup_.patience) return;
            cancelled_ = Error{ErrorCode::timeout, "nothing moved for " + elapsed_text(setup_.patience)};
            cancelled_at_ = now;
            why = cancelled_;
        } else {
            const Duration since = now - cancelled_at_;
            if (since >= setup_.wind_up_within && !std::exchange(closed_, true)) why = cancelled_;
            if (since >= setup_.wind_up_within + kCloseWithin) stuck_ = true;
        }
    }
    if (why) ask_to_end(*why);
}

void TransferState::tell_progress(Instant now) {
    if (!setup_.events.progress || now < next_told_) return;
    next_told_ = now + std::max(setup_.events.progress_every, kLeastApart);
    setup_.events.progress(job_->progress());
}

void TransferState::finish() {
    if (!settled_) {
        link_->sample_stats();
        protocol_->stop(job_->result().status.ok() ? setup_.leave_within : io::kDrainAtMost);
        settle_receipt();
        settled_ = true;
    }
    if (!done_) {
        if (setup_.events.progress) setup_.events.progress(job_->progress());
        const std::lock_guard lock(mutex_);
        done_ = true;
        changed_.notify_all();
    }
    if (setup_.events.done && !told_done_) {
        const Outcome all = outcome();
        told_done_ = true;
        setup_.events.done(all);
    }
    // No call is added after done_ is set.
    while (!when_done_.empty()) {
        const auto call = std::move(when_done_.front());
        when_done_.pop_front();
        call();
    }
}

void TransferState::settle_receipt() {
    if (!receipt_) return;
    Result<void> settled;
    try {
        const Outcome outcome = job_->result();
        const bool confirmed = outcome.status.ok() || outcome.status.error().code == ErrorCode::partial;
        const bool nothing = !confirmed || nobody_;
        if (outcome.dry_run || nothing) receipt_->discard();
        if (outcome.dry_run) return;
        settled = nothing
                      ? Error{ErrorCode::partial, "there is no receipt, because the transfer failed"}
                      : receipt_->writer()->finish([this](const std::string& path) {
                            return sender_ != nullptr ? sender_->open_source(path) : receiver_->open_delivered(path);
                        });
    } catch (const std::bad_alloc&) {
        receipt_->discard();
        settled = Error{ErrorCode::file_io, "out of memory"};
    }
    const std::lock_guard lock(mutex_);
    receipt_status_ = std::move(settled);
}

}  // namespace udtx::transfer
