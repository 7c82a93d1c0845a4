#include "transfer/run/awaited.hpp"

#include <utility>
#include <variant>

#include "udtx/monotonic_clock.hpp"

namespace udtx::transfer {
namespace {

/// Whoever else has the key is let in as far as to be told that one is enough.
constexpr std::size_t kConnections = 2;

}  // namespace

void Awaited::begin() {
    setup_.driver.listen(kConnections,
                         [self = shared_from_this()](proto::Connection& connection) { return self->take(connection); });
}

std::shared_ptr<proto::ConnectionHandler> Awaited::take(proto::Connection& connection) {
    if (taken_.exchange(true)) return nullptr;
    connection_ = &connection;
    {
        const std::lock_guard lock(mutex_);
        connected_since_ = monotonic_now();
    }
    setup_.connected(connection, setup_.driver.waker_for(connection));
    if (max_rate_) connection.set_max_rate(*max_rate_);
    return shared_from_this();
}

void Awaited::act(Call what) {
    setup_.driver.post([self = shared_from_this(), what = std::move(what)] {
        if (self->connection_ != nullptr) what(monotonic_now(), *self->connection_);
    });
}

void Awaited::suspect_end() {
    act([](Instant now, proto::Connection& connection) { connection.suspect(now, proto::Evidence::exited); });
}

void Awaited::set_max_rate(Rate rate) {
    setup_.driver.post([self = shared_from_this(), rate] {
        self->max_rate_ = rate;
        if (self->connection_ != nullptr) self->connection_->set_max_rate(rate);
    });
}

std::optional<Instant> Awaited::connected_since() const {
    const std::lock_guard lock(mutex_);
    return connected_since_;
}

void Awaited::sample_stats() {
    act([self = shared_from_this()](Instant, const proto::Connection& connection) { self->keep_stats(connection); });
}

std::optional<ConnectionStats> Awaited::kept_stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

Instant Awaited::stats_at() const {
    const std::lock_guard lock(mutex_);
    return stats_at_;
}

void Awaited::keep_stats(const proto::Connection& connection) {
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    stats_ = std::move(stats);
    stats_at_ = monotonic_now();
}

void Awaited::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Closed>(event)) {
        keep_stats(connection);
        connection_ = nullptr;
    }
    setup_.handler->on_event(now, connection, event);
}

}  // namespace udtx::transfer
