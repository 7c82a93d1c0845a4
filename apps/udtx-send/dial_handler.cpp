#include "udtx-send/dial_handler.hpp"

#include <utility>
#include <variant>

#include "io/monotonic_clock.hpp"

namespace udtx::apps {

DialHandler::DialHandler(io::Driver& driver, std::vector<Address> addresses, transfer::SendJob& job, Log& log)
    : driver_(driver), addresses_(std::move(addresses)), job_(job), log_(log) {}

void DialHandler::dial() { dial_next(); }

void DialHandler::dial_next() {
    const Address& address = addresses_[next_++];
    log_.detail("dialling " + to_string(address) + "/udp");
    connection_ = driver_.connect(address, shared_from_this());
}

void DialHandler::abort(ErrorCode code, const std::string& reason) {
    driver_.post([self = shared_from_this(), code, reason] {
        self->aborted_ = true;
        if (self->connection_) self->job_.abort(io::monotonic_now(), *self->connection_, code, reason);
    });
}

void DialHandler::sample_stats() {
    driver_.post([self = shared_from_this()] {
        if (self->connection_) self->keep_stats(*self->connection_);
    });
}

bool DialHandler::connected() const {
    const std::lock_guard lock(mutex_);
    return connected_;
}

std::optional<ConnectionStats> DialHandler::final_stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

bool DialHandler::try_another(const proto::CloseReason& reason) {
    const bool unreachable =
        reason.code == ErrorCode::network || reason.code == ErrorCode::udp_blocked || reason.code == ErrorCode::timeout;
    if (connected() || aborted_ || !unreachable || next_ == addresses_.size()) return false;
    log_.detail(to_string(addresses_[next_ - 1]) + ": " + reason.message);
    dial_next();
    return true;
}

void DialHandler::keep_stats(const proto::Connection& connection) {
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    if (connected_) stats_ = std::move(stats);
}

void DialHandler::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        {
            const std::lock_guard lock(mutex_);
            connected_ = true;
        }
        job_.set_waker(driver_.waker_for(connection));
        log_.detail("connected to " + to_string(connection.remote()));
    }
    if (const auto* moved = std::get_if<proto::event::PeerMoved>(&event)) {
        log_.detail("the peer's address changed from " + to_string(moved->from) + " to " + to_string(moved->to));
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        keep_stats(connection);
        connection_.reset();
        if (try_another(closed->reason)) return;
    }
    job_.on_event(now, connection, event);
}

void DialHandler::on_wake(Instant now, proto::Connection& connection) { job_.on_wake(now, connection); }

void DialHandler::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    job_.on_placed(id, offset, bytes);
}

}  // namespace udtx::apps
