// One turn of the driver's loop.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "io/driver_impl.hpp"
#include "io/no_way.hpp"
#include "udtx/core/lane_work.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::io {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// What one GSO call takes: UDP_MAX_SEGMENTS of older kernels. Bytes are bounded by the buffer.
constexpr std::size_t kMaxSegments = 64;
/// Deadlines that are already over lead to another turn no sooner than this, so that a connection that cannot move
/// (nothing changed by the time-out) does not spin.
constexpr Duration kShortestWait = std::chrono::microseconds(20);
constexpr Duration kWaitWhileBlocked = std::chrono::milliseconds(1);

std::chrono::steady_clock::time_point to_steady(Instant at) {
    return std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(at.time_since_epoch()));
}

}  // namespace

void Driver::Impl::wait_readable() {
    if (std::exchange(waiting_readable_, true)) return;
    readiness_->async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
        waiting_readable_ = false;
        if (error) return;
        readable_ = true;
        turn();
    });
}

void Driver::Impl::wait_writable() {
    if (std::exchange(waiting_writable_, true)) return;
    readiness_->async_wait(asio::posix::stream_descriptor::wait_write, [this](error_code error) {
        waiting_writable_ = false;
        if (!error) turn();
    });
}

void Driver::Impl::schedule_turn() {
    if (std::exchange(turn_scheduled_, true)) return;
    asio::post(context_, [this] {
        turn_scheduled_ = false;
        turn();
    });
}

void Driver::Impl::turn() {
    if (!socket_) return;
    bool more = readable_ && receive();
    handle_due_timeout();
    deliver();
    more = transmit() || more;
    more = deliver() || more;  // the endpoint reaps a drained connection at the next transmit()
    if (more) schedule_turn();
    arm_timer();
    stop_if_drained();
}

/// Returns true when there may be more to receive at once.
bool Driver::Impl::receive() {
    for (std::size_t i = 0; i < options_.receive_batches; ++i) {
        const std::span<proto::RxDatagram> batch = socket_->receive();
        if (batch.empty()) {
            readable_ = false;
            break;
        }
        if (!heard()) heard_.store(true, std::memory_order_relaxed);
        const Instant now = monotonic_now();
        if (lanes_) lanes_->open.begin(batch);
        for (std::size_t k = 0; k < batch.size(); ++k) {
            if (lanes_) lanes_->open.reach(k);
            endpoint_.handle_datagram(now, batch[k]);
        }
        if (lanes_) lanes_->open.end();
        // A handler that drains its streams between batches keeps the windows open.
        deliver();
    }
    note_refusals(monotonic_now());
    if (!readable_) wait_readable();
    return readable_;
}

/// Returns true when there may be more to send at once.
bool Driver::Impl::transmit() {
    if (!socket_ || waiting_writable_) return false;
    if (lanes_) return transmit_by_lanes();
    for (std::size_t i = 0; i < options_.send_batches; ++i) {
        if (!pending_) {
            pending_ = endpoint_.poll_transmit(monotonic_now(), kMaxSegments, send_buffer_);
            pending_sent_ = 0;
            // Lanes need a socket to begin with; what was built before is sealed here.
            if (pending_ && pending_->key) {
                proto::seal_batch(*pending_, std::span(send_buffer_).first(pending_->size), 0);
            }
        }
        if (!pending_) return false;
        if (!send_pending()) return false;
    }
    return true;
}

bool Driver::Impl::transmit_by_lanes() {
    if (waiting_room_) return false;
    bool more = true;
    for (std::size_t i = 0; more && i < options_.send_batches; ++i) {
        const std::span<std::byte> room = lanes_->send.room();
        waiting_room_ = room.empty();
        if (waiting_room_) return false;
        auto transmit = endpoint_.poll_transmit(monotonic_now(), kMaxSegments, room);
        more = transmit.has_value();
        if (more) lanes_->send.submit(std::move(*transmit));
    }
    note_refusals(monotonic_now());
    return more;
}

/// Returns false when the socket is full.
bool Driver::Impl::send_pending() {
    const auto bytes = std::span<const std::byte>(send_buffer_).first(pending_->size).subspan(pending_sent_);
    const SendResult result = socket_->send(*pending_, bytes);
    if (result.status == SendResult::Status::would_block) {
        pending_sent_ += result.bytes;
        wait_writable();
        return false;
    }
    // `dropped` is left to the loss recovery: the network could have done the same.
    const proto::Transmit done = *std::exchange(pending_, std::nullopt);
    on_not_sent(done, result);
    note_refusals(monotonic_now());
    return true;
}

void Driver::Impl::on_not_sent(const proto::Transmit& refused, const SendResult& why) {
    if (why.status == SendResult::Status::too_large) endpoint_.on_datagram_too_large(monotonic_now(), refused);
    if (why.status != SendResult::Status::no_way) return;
    // EPERM is a packet filter's word, which may be about this packet only: a full table of connections, a rule that
    // lets through so many.
    endpoint_.on_no_way(monotonic_now(), refused, describe_no_way(refused.remote, why.error), why.error == EPERM);
}

void Driver::Impl::note_refusals(Instant now) {
    for (const Refusal& refusal : socket_->take_refusals()) {
        const Address& address = refusal.remote;
        for (const auto& [key, entry] : entries_) {
            // That the lines to a peer are down may pass; that its port is closed will not.
            if (entry->connected && refusal.port_closed()) entry->connection->on_refused(now, address);
            // Whoever answers is there, whatever somebody on the way says.
            if (entry->connected || entry->refused || entry->connection->heard()) continue;
            // All the ways are among the alternatives, unless there is but one.
            const auto& ways = entry->connection->alternatives();
            const auto leads_there = [&](const proto::PathAddresses& way) { return way.remote == address; };
            const bool ours =
                entry->connection->remote() == address || std::any_of(ways.begin(), ways.end(), leads_there);
            if (!ours) continue;
            std::vector<Refusal>& refusing = entry->refusing;
            std::erase_if(refusing, [&](const Refusal& one) { return one.remote == address; });
            refusing.push_back(refusal);
            const auto open = [&refusing](const proto::PathAddresses& way) {
                return std::ranges::none_of(refusing, [&](const Refusal& one) { return one.remote == way.remote; });
            };
            if (std::any_of(ways.begin(), ways.end(), open)) continue;
            entry->refused = now;
            ++refused_entries_;
        }
    }
}

void Driver::Impl::end_refused(Instant now) {
    std::vector<EntryPtr> over;
    for (const auto& [key, entry] : entries_) {
        if (entry->refused && entry->connection->heard()) {
            entry->refused.reset();
            --refused_entries_;
        }
        if (entry->refused && now - *entry->refused >= options_.refused_grace) over.push_back(entry);
    }
    for (const EntryPtr& entry : over) {
        const Refusal last = entry->refusing.back();
        --refused_entries_;
        entries_.erase(entry->connection.get());
        entry->connection->set_placed_sink(nullptr);
        entry->connection->close(now, 0, "refused");
        proto::CloseReason reason;
        reason.code = last.port_closed() ? ErrorCode::network : ErrorCode::no_route;
        reason.message = last.port_closed() ? "nobody listens on UDP " + to_string(last.remote) +
                                                  " (start the receiver there, or check host and port)"
                                            : describe_no_way(last.remote, last.error);
        entry->handler->on_event(now, *entry->connection, proto::event::Closed{std::move(reason)});
    }
}

void Driver::Impl::handle_due_timeout() {
    const Instant now = monotonic_now();
    const auto deadline = endpoint_.poll_timeout();
    if (deadline && *deadline <= now) endpoint_.handle_timeout(now);
    if (refused_entries_ > 0) end_refused(now);
}

/// One timer for all. It is left alone when it would fire earlier than needed: deadlines mostly move away, and a turn
/// too many costs less than setting the timer at every turn.
void Driver::Impl::arm_timer() {
    std::optional<Instant> deadline = endpoint_.poll_timeout();
    const Instant now = monotonic_now();
    if (refused_entries_ > 0) {
        const Instant look = now + options_.refused_grace / 4;
        deadline = deadline ? std::min(*deadline, look) : look;
    }
    if (!deadline) return;
    *deadline = std::max(*deadline, now + (waiting_writable_ || waiting_room_ ? kWaitWhileBlocked : kShortestWait));
    if (armed_for_ && *armed_for_ <= *deadline) return;
    armed_for_ = deadline;
    timer_.expires_at(to_steady(*deadline));
    timer_.async_wait([this](error_code error) {
        if (error) return;  // set anew, earlier
        armed_for_.reset();
        turn();
    });
}

}  // namespace udtx::io
