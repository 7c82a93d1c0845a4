#include "io/driver.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "io/socket_setup.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/system.hpp"

namespace udtx::io {
namespace {

/// Less than the 65,535 bytes of an IP packet with headers.
constexpr std::size_t kMaxBatchBytes = 65000;

std::size_t packet_thread_count(std::size_t threads) { return std::clamp<std::size_t>(threads, 1, kMaxThreads) - 1; }

proto::EndpointDeps deps_for(proto::EndpointDeps deps, const Driver::Options& options) {
    deps.packet_threads = packet_thread_count(options.threads);
    deps.share = static_cast<std::uint32_t>(options.share);
    deps.shares = static_cast<std::uint32_t>(options.shares);
    deps.window_memory = options.window_memory;
    return deps;
}

/// Most queued datagrams from other shares: what one batch of the kernel holds.
constexpr std::size_t kMostTaken = 1024;

/// The limit of one GSO call: UDP_MAX_SEGMENTS of older kernels. The buffer limits the bytes.
constexpr std::size_t kMaxSegments = 64;
/// Limits for one turn of the loop, so that neither direction starves the other.
constexpr std::size_t kReceiveBatches = 8;
constexpr std::size_t kSendBatches = 16;
/// A deadline in the past starts the next turn no sooner, so that a connection that cannot progress does not spin.
constexpr Duration kShortestWait = std::chrono::microseconds(20);
constexpr Duration kWaitWhileBlocked = std::chrono::milliseconds(1);

bool by_stream(const proto::Transmit& transmit) noexcept { return transmit.remote.carrier != Carrier::udp; }

}  // namespace

Driver::Driver(proto::EndpointDeps deps, TransportConfig config, Options options)
    : endpoint_(deps_for(std::move(deps), options), std::move(config)),
      options_(std::move(options)),
      connections_(endpoint_),
      carriers_(endpoint_, options_.share, options_.shares),
      send_buffer_(kMaxBatchBytes) {
    const Lock lock(mailbox_->mutex);
    mailbox_->driver = this;
}

Driver::~Driver() {
    const Lock lock(mailbox_->mutex);
    mailbox_->driver = nullptr;
}

Result<void> Driver::open(const Address& bind) { return use(open_socket(bind, options_.socket)); }

Result<void> Driver::open(UniqueFd socket) { return use(adopt_socket(std::move(socket), options_.socket)); }

Result<void> Driver::use(Result<std::unique_ptr<DatagramSocket>> socket) {
    if (!socket) return socket.error();
    socket_ = std::move(*socket);
    receiving_ = Receiving::waiting;
    return {};
}

Result<Address> Driver::local_address() const {
    if (!socket_) return Error{ErrorCode::internal, "the socket is not open"};
    return socket_->local_address();
}

std::shared_ptr<proto::Connection> Driver::connect(std::vector<proto::PathAddresses> candidates,
                                                   std::shared_ptr<proto::ConnectionHandler> handler) {
    auto connection = endpoint_.connect(monotonic_now(), std::move(candidates));
    connections_.add(connection, std::move(handler));
    schedule_turn();
    return connection;
}

void Driver::listen(std::size_t max_connections, HandledConnections::AcceptCallback accept) {
    connections_.on_accept(std::move(accept));
    endpoint_.listen(max_connections);
}

// --- life of the loop

void Driver::run() {
    ask_for_short_slice();
    ask_for_exact_waits();
    ignore_broken_pipes();
    start_packet_threads();
    run_loop();
    life_.enter(Life::running);
    packet_threads_.reset();
    if (sending_ == Sending::waiting_room) sending_ = Sending::ready;
}

void Driver::run_loop() {
    while (life_ != Life::finished) {
        try {
            take_missed();
            schedule_turn();
            while (life_ != Life::finished && !loop_.take_interrupt()) step();
        } catch (const std::exception&) {
            // Usually memory ran out, and others may soon free some. The next round sets up what is missing.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (receiving_ != Receiving::waiting) receiving_ = Receiving::readable;
            wakes_missed_ = true;
            if (life_ != Life::finished && must_give_up_draining()) life_.enter(Life::finished);
        }
    }
}

/// Runs what was posted before, then a turn if one is due, then waits.
void Driver::step() {
    for (std::size_t posted = loop_.posted(); posted > 0; --posted) {
        loop_.run_one();
        if (life_ == Life::finished) return;
    }
    if (std::exchange(turn_scheduled_, false)) turn();
    if (life_ != Life::finished) wait();
}

void Driver::wait() {
    const EventLoop::Readiness wanted{.readable = receiving_ == Receiving::waiting,
                                      .writable = sending_ == Sending::waiting_writable};
    if (turn_scheduled_ && !wanted.readable && !wanted.writable) return;
    std::optional<Instant> until = wake_at_;
    if (life_ == Life::draining) until = until ? std::min(*until, drain_end_) : drain_end_;
    if (const auto due = carriers_.deadline()) until = until ? std::min(*until, *due) : *due;
    if (const auto again = trouble_.again_at()) until = until ? std::min(*until, *again) : *again;
    if (turn_scheduled_) until = Instant();
    const std::span<os::Watch> streams = carriers_.watches();
    const EventLoop::Readiness ready = loop_.wait(socket_ ? socket_->native_handle() : -1, wanted, until, streams);
    if (ready.writable) sending_ = Sending::ready;
    const Instant now = monotonic_now();
    const bool again = trouble_.due(now);
    if (ready.readable || again) receiving_ = Receiving::readable;
    const auto due = carriers_.deadline();
    const bool stream_ready = std::ranges::any_of(streams, &os::Watch::ready) || (due && *due <= now);
    if (ready.readable || again || ready.writable || stream_ready || (wake_at_ && *wake_at_ <= now)) schedule_turn();
    if (life_ == Life::draining && drain_end_ <= now) finish_run();
}

/// A run that must end does so in time, even without the memory to close its connections.
bool Driver::must_give_up_draining() {
    if (!drain_wished_ && life_ != Life::draining) return false;
    const Instant now = monotonic_now();
    if (!drain_until_) drain_until_ = now + drain_at_most_.load();
    return now >= *drain_until_;
}

/// It may be called again after it threw.
void Driver::take_missed() {
    if (finish_wished_.exchange(false)) return finish_run();
    if (wakes_missed_.exchange(false)) connections_.wake_missed();
    if (drain_wished_) begin_draining(drain_at_most_);
}

void Driver::start_packet_threads() {
    const std::size_t packet_threads = packet_thread_count(options_.threads);
    if (packet_threads == 0 || !socket_) return;
    // If no packet thread gets a thread, the protocol thread does all the work.
    try {
        packet_threads_ = std::make_unique<PacketThreads>(*socket_, packet_threads, kMaxBatchBytes,
                                                          static_cast<PacketThreadsOwner&>(*this));
    } catch (const std::exception&) {
        packet_threads_.reset();
    }
}

void Driver::on_room() {
    post([this] {
        if (sending_ == Sending::waiting_room) sending_ = Sending::ready;
    });
}

void Driver::on_not_sent(const proto::Transmit& refused, const SendResult& why) {
    post([this, refused, why] { take_refused(refused, why); });
}

void Driver::stop() {
    try {
        post([this] { finish_run(); });
    } catch (const std::exception&) {
        finish_wished_ = true;
        loop_.interrupt();
    }
}

void Driver::stop_when_drained(Duration at_most) {
    try {
        post([this, at_most] { begin_draining(at_most); });
    } catch (const std::exception&) {
        drain_at_most_ = at_most;
        drain_wished_ = true;
        loop_.interrupt();
    }
}

void Driver::begin_draining(Duration at_most) {
    drain_at_most_ = at_most;
    drain_wished_ = true;  // stays set until there was memory for the rest
    if (life_ == Life::running) life_.enter(Life::draining);
    drain_end_ = monotonic_now() + at_most;
    schedule_turn();
    drain_wished_ = false;
}

void Driver::stop_if_drained() {
    if (life_ == Life::draining && !pending_ && endpoint_.connection_count() == 0) finish_run();
}

void Driver::finish_run() {
    life_.enter(Life::finished);
    transmit();
    if (packet_threads_) packet_threads_->send.flush();
    connections_.deliver();
}

void Driver::post(std::function<void()> fn) {
    loop_.post([this, fn = std::move(fn)] {
        fn();
        schedule_turn();
    });
}

void Driver::take(const proto::RxDatagram& datagram) {
    if (taken_.fetch_add(1) >= kMostTaken) {
        --taken_;
        return;
    }
    try {
        post([this, copy = proto::RxDatagram(datagram),
              bytes = std::vector(datagram.data.begin(), datagram.data.end())]() mutable {
            --taken_;
            copy.data = bytes;
            endpoint_.handle_datagram(monotonic_now(), copy);
        });
    } catch (const std::exception&) {
        --taken_;  // no memory: the datagram counts as lost
    }
}

void Driver::take(const std::vector<Refusal>& refusals) {
    try {
        post([this, refusals] { connections_.note_refusals(monotonic_now(), refusals); });
    } catch (const std::exception&) {
        // No memory: a time-out will show the same later.
    }
}

void Driver::note_refusals() {
    const auto refusals = socket_->take_refusals();
    if (refusals.empty()) return;
    connections_.note_refusals(monotonic_now(), refusals);
    if (pass_refusals_) pass_refusals_(refusals);
}

proto::Waker Driver::waker_for(const proto::Connection& connection) {
    const auto flag = connections_.woken_flag(connection);
    if (!flag) return [] {};
    return [mailbox = mailbox_, woken = flag, key = &connection] {
        if (woken->exchange(true, std::memory_order_acq_rel)) return;  // a wake-up is already posted
        const Lock lock(mailbox->mutex);
        if (mailbox->driver == nullptr) return;
        // `woken` identifies the entry: another connection may have the same address in memory by then.
        try {
            mailbox->driver->loop_.post([driver = mailbox->driver, key, woken] {
                if (driver->connections_.wake(key, *woken)) driver->schedule_turn();
            });
        } catch (const std::exception&) {
            mailbox->driver->wakes_missed_ = true;
            mailbox->driver->loop_.interrupt();
        }
    };
}

// --- one turn: receive, time-outs, events, transmit, events, timer

void Driver::turn() {
    if (!socket_) return stop_if_drained();
    bool more = receiving_ == Receiving::readable && receive();
    const Instant now = monotonic_now();
    more = carriers_.turn(now) || more;
    const auto deadline = endpoint_.poll_timeout();
    if (deadline && *deadline <= now) endpoint_.handle_timeout(now);
    connections_.end_refused(now);
    connections_.deliver();
    more = transmit() || more;
    more = connections_.deliver() || more;  // the endpoint drops a drained connection at the next transmit()
    if (more) schedule_turn();
    set_timer();
    stop_if_drained();
}

/// Returns true if there may be more to receive now.
bool Driver::receive() {
    int error = 0;
    for (std::size_t i = 0; i < kReceiveBatches; ++i) {
        const std::span<proto::RxDatagram> batch = socket_->receive();
        if (batch.empty()) {
            error = socket_->receive_error();
            receiving_ = error == 0 ? Receiving::waiting : Receiving::paused;
            break;
        }
        trouble_.received();
        if (!heard()) heard_.store(true, std::memory_order_relaxed);
        const Instant now = monotonic_now();
        if (packet_threads_) packet_threads_->open.begin(batch);
        for (std::size_t k = 0; k < batch.size(); ++k) {
            if (packet_threads_) packet_threads_->open.reach(k);
            const std::size_t share = options_.shares > 1 ? thread_of(batch[k].data, options_.shares) : options_.share;
            if (share == options_.share) {
                endpoint_.handle_datagram(now, batch[k]);
            } else if (pass_on_) {
                pass_on_(share, batch[k]);
            }
        }
        if (packet_threads_) packet_threads_->open.end();
        // A handler that reads its streams between batches keeps the windows open.
        connections_.deliver();
    }
    note_refusals();
    const auto why = error == 0 ? std::nullopt : trouble_.refused(error);
    if (why) connections_.end_all(monotonic_now(), *why);
    return receiving_ == Receiving::readable;
}

/// Returns true if there may be more to send now.
bool Driver::transmit() {
    if (!socket_ || sending_ == Sending::waiting_writable) return false;
    if (packet_threads_) return transmit_by_threads();
    for (std::size_t i = 0; i < kSendBatches; ++i) {
        if (!pending_) {
            pending_ = endpoint_.poll_transmit(monotonic_now(), kMaxSegments, send_buffer_);
            pending_sent_ = 0;
            // Packet threads start only with a socket. Batches built before that are sealed here.
            if (pending_ && pending_->key) {
                proto::seal_batch(*pending_, std::span(send_buffer_).first(pending_->size), 0);
            }
        }
        if (!pending_) return false;
        if (by_stream(*pending_)) {
            const proto::Transmit done = *std::exchange(pending_, std::nullopt);
            carriers_.send(monotonic_now(), done, std::span<const std::byte>(send_buffer_).first(done.size));
            continue;
        }
        if (!send_pending()) return false;
    }
    return true;
}

bool Driver::transmit_by_threads() {
    if (sending_ == Sending::waiting_room) return false;
    bool more = true;
    for (std::size_t i = 0; more && i < kSendBatches; ++i) {
        const std::span<std::byte> room = packet_threads_->send.room();
        if (room.empty()) {
            sending_ = Sending::waiting_room;
            return false;
        }
        auto transmit = endpoint_.poll_transmit(monotonic_now(), kMaxSegments, room);
        more = transmit.has_value();
        if (!more) break;
        if (by_stream(*transmit)) {
            const auto batch = room.first(transmit->size);
            if (transmit->key) proto::seal_batch(*transmit, batch, 0);
            carriers_.send(monotonic_now(), *transmit, batch);
        } else {
            packet_threads_->send.submit(std::move(*transmit));
        }
    }
    note_refusals();
    return more;
}

/// Returns false if the socket is full.
bool Driver::send_pending() {
    const auto bytes = std::span<const std::byte>(send_buffer_).first(pending_->size).subspan(pending_sent_);
    const SendResult result = socket_->send(*pending_, bytes);
    if (result.status == SendResult::Status::would_block) {
        pending_sent_ += result.bytes;
        sending_ = Sending::waiting_writable;
        return false;
    }
    // Loss recovery handles `dropped`: the network could have lost the batch too.
    const proto::Transmit done = *std::exchange(pending_, std::nullopt);
    take_refused(done, result);
    note_refusals();
    return true;
}

void Driver::take_refused(const proto::Transmit& refused, const SendResult& why) {
    if (why.status == SendResult::Status::too_large) endpoint_.on_datagram_too_large(monotonic_now(), refused);
    if (why.status != SendResult::Status::no_route) return;
    // EPERM comes from a packet filter and may concern this packet only: its table is full, or it limits the rate.
    const bool may_pass = why.error == EPERM;
    endpoint_.on_no_route(monotonic_now(), refused, describe_no_route(refused.remote, why.error), may_pass);
    connections_.note_no_route(monotonic_now(), {.remote = refused.remote, .error = why.error}, may_pass);
}

/// One timer serves all deadlines.
void Driver::set_timer() {
    std::optional<Instant> deadline = endpoint_.poll_timeout();
    const Instant now = monotonic_now();
    if (connections_.any_refused()) {
        const Instant look = now + HandledConnections::kRefusedGrace / 4;
        deadline = deadline ? std::min(*deadline, look) : look;
    }
    wake_at_ = deadline;
    if (!deadline) return;
    *wake_at_ = std::max(*deadline, now + (sending_ == Sending::ready ? kShortestWait : kWaitWhileBlocked));
}

}  // namespace udtx::io
