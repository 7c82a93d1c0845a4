#include "io/dial.hpp"

#include <string>
#include <utility>
#include <variant>

#include "io/path_plan.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::io {
namespace {

/// Another address of the host may do better.
bool is_unreachable(ErrorCode code) {
    return code == ErrorCode::network || code == ErrorCode::no_route || code == ErrorCode::udp_blocked ||
           code == ErrorCode::timeout;
}

}  // namespace

void Dial::begin() { dial_next(); }

void Dial::dial_next() {
    if (setup_.several) {
        for (const auto& way : setup_.ways) {
            log(LogLevel::detail, "dialling " + to_string(way.remote) + "/udp from " + host_text(way.local));
        }
        next_ = setup_.ways.size();
        connection_ = setup_.driver.connect(setup_.ways, shared_from_this());
        return;
    }
    const Address& remote = setup_.ways[next_++].remote;
    log(LogLevel::detail, "dialling " + to_string(remote) + "/udp");
    connection_ = setup_.driver.connect(remote, shared_from_this());
}

void Dial::open_other_paths(Instant now, proto::Connection& connection) {
    if (!setup_.several) return;
    for (const auto& way : other_ways(connection.stats().paths.front(), setup_.ways)) {
        const auto opened = connection.add_path(now, way.local, way.remote, way.options);
        if (!opened) {
            log(LogLevel::warning, "path from " + host_text(way.local) + ": " + opened.error().message);
        }
    }
}

void Dial::tell(const proto::event::PathChanged& path) const {
    const std::string name =
        "path " + std::to_string(path.id.value) + " from " + host_text(path.local) + " to " + to_string(path.remote);
    if (path.unreachable) {
        log(LogLevel::warning, name + ": nothing comes back; it is asked for from time to time");
    } else {
        log(LogLevel::detail, name + ": " + to_string(path.state));
    }
}

void Dial::act(Call what) {
    setup_.driver.post([self = shared_from_this(), what = std::move(what)] {
        if (self->connection_) what(monotonic_now(), *self->connection_);
    });
}

void Dial::act_last(Call what) {
    setup_.driver.post([self = shared_from_this(), what = std::move(what)] {
        self->ending_ = true;
        if (self->connection_) what(monotonic_now(), *self->connection_);
    });
}

void Dial::suspect_end() {
    act([](Instant now, proto::Connection& connection) { connection.suspect(now, proto::Evidence::exited); });
}

void Dial::set_max_rate(Rate rate) {
    setup_.driver.post([self = shared_from_this(), rate] {
        self->max_rate_ = rate;
        if (self->connection_) self->connection_->set_max_rate(rate);
    });
}

void Dial::sample_stats() {
    act([self = shared_from_this()](Instant, const proto::Connection& connection) { self->keep_stats(connection); });
}

std::optional<Instant> Dial::connected_since() const {
    const std::lock_guard lock(mutex_);
    return connected_since_;
}

bool Dial::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

std::optional<ConnectionStats> Dial::kept_stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

Instant Dial::stats_at() const {
    const std::lock_guard lock(mutex_);
    return stats_at_;
}

void Dial::keep_stats(const proto::Connection& connection) {
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    if (!connected_since_) return;
    stats_ = std::move(stats);
    stats_at_ = monotonic_now();
}

void Dial::on_connected(Instant now, proto::Connection& connection) {
    {
        const std::lock_guard lock(mutex_);
        connected_since_ = now;
    }
    if (setup_.connected) setup_.connected(connection, setup_.driver.waker_for(connection));
    if (max_rate_) connection.set_max_rate(*max_rate_);
    log(LogLevel::detail, "connected to " + to_string(connection.remote()));
    open_other_paths(now, connection);
}

bool Dial::tries_another(proto::CloseReason& reason) {
    const bool more = !connected_since() && !ending_ && is_unreachable(reason.code) && next_ < setup_.ways.size();
    if (more) {
        if (reason.code != ErrorCode::no_route) failed_beyond_ = reason;
        log(LogLevel::detail, to_string(setup_.ways[next_ - 1].remote) + ": " + reason.message);
        dial_next();
        return true;
    }
    // That another address has no route says less than what became of one that has.
    if (reason.code == ErrorCode::no_route && failed_beyond_) {
        reason = *failed_beyond_;
        return false;
    }
    const std::lock_guard lock(mutex_);
    lost_ = connected_since_ && !reason.by_peer && !reason.application &&
            (reason.code == ErrorCode::timeout || reason.code == ErrorCode::network);
    return false;
}

void Dial::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) on_connected(now, connection);
    if (const auto* path = std::get_if<proto::event::PathChanged>(&event)) tell(*path);
    if (const auto* moved = std::get_if<proto::event::PeerMoved>(&event)) {
        log(LogLevel::detail, (setup_.several ? "path " + std::to_string(moved->path.value) + ": " : std::string()) +
                                  "the peer's address changed from " + to_string(moved->from) + " to " +
                                  to_string(moved->to));
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        keep_stats(connection);
        connection_.reset();
        proto::CloseReason reason = closed->reason;
        if (tries_another(reason)) return;
        setup_.handler->on_event(now, connection, proto::event::Closed{std::move(reason)});
        return;
    }
    setup_.handler->on_event(now, connection, event);
}

}  // namespace udtx::io
