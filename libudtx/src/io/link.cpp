#include "io/link.hpp"

#include <utility>

#include "udtx/monotonic_clock.hpp"

namespace udtx::io {

void Link::act(Call what) {
    driver_.post([self = shared_from_this(), what = std::move(what)] {
        if (self->connection_ != nullptr) what(monotonic_now(), *self->connection_);
    });
}

void Link::act_last(Call what) {
    driver_.post([self = shared_from_this(), what = std::move(what)] {
        self->ending_ = true;
        if (self->connection_ != nullptr) what(monotonic_now(), *self->connection_);
    });
}

void Link::suspect_end() {
    act([](Instant now, proto::Connection& connection) { connection.suspect(now, proto::Evidence::exited); });
}

void Link::set_max_rate(Rate rate) {
    driver_.post([self = shared_from_this(), rate] {
        self->max_rate_ = rate;
        if (self->connection_ != nullptr) self->connection_->set_max_rate(rate);
    });
}

void Link::sample_stats() {
    act([self = shared_from_this()](Instant, const proto::Connection& connection) { self->keep_stats(connection); });
}

std::optional<Instant> Link::connected_since() const {
    const std::lock_guard lock(mutex_);
    return connected_since_;
}

std::optional<ConnectionStats> Link::kept_stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

Instant Link::stats_at() const {
    const std::lock_guard lock(mutex_);
    return stats_at_;
}

bool Link::is_loss(const proto::CloseReason& reason) noexcept {
    return !reason.by_peer && !reason.application &&
           (reason.code == ErrorCode::timeout || reason.code == ErrorCode::network);
}

void Link::note_connected(Instant now, proto::Connection& connection) {
    {
        const std::lock_guard lock(mutex_);
        connected_since_ = now;
    }
    if (connected_) connected_(connection, driver_.waker_for(connection));
    if (max_rate_) connection.set_max_rate(*max_rate_);
}

void Link::note_closed(const proto::Connection& connection) {
    keep_stats(connection);
    connection_ = nullptr;
}

void Link::keep_stats(const proto::Connection& connection) {
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    if (!connected_since_) return;
    stats_ = std::move(stats);
    stats_at_ = monotonic_now();
}

}  // namespace udtx::io
