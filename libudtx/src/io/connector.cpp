#include "io/connector.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "io/path_plan.hpp"
#include "udtx/address.hpp"
#include "udtx/system.hpp"

namespace udtx::io {

void SingleConnection::act(Call what) {
    driver_.post([self = shared_from_this(), what = std::move(what)] {
        if (self->connection_ != nullptr) what(monotonic_now(), *self->connection_);
    });
}

void SingleConnection::act_last(Call what) {
    driver_.post([self = shared_from_this(), what = std::move(what)] {
        self->ending_ = true;
        if (self->connection_ != nullptr) what(monotonic_now(), *self->connection_);
    });
}

void SingleConnection::suspect_end() {
    act([](Instant now, proto::Connection& connection) { connection.suspect(now, proto::Evidence::exited); });
}

void SingleConnection::set_max_rate(Rate rate) {
    driver_.post([self = shared_from_this(), rate] {
        self->max_rate_ = rate;
        if (self->connection_ != nullptr) self->connection_->set_max_rate(rate);
    });
}

void SingleConnection::sample_stats() {
    act([self = shared_from_this()](Instant, const proto::Connection& connection) { self->keep_stats(connection); });
}

std::optional<Instant> SingleConnection::connected_since() const {
    const Lock lock(mutex_);
    return connected_since_;
}

std::optional<ConnectionStats> SingleConnection::kept_stats() const {
    const Lock lock(mutex_);
    return stats_;
}

Instant SingleConnection::stats_at() const {
    const Lock lock(mutex_);
    return stats_at_;
}

bool SingleConnection::lost() const {
    const Lock lock(mutex_);
    return life_ == Life::lost;
}

void SingleConnection::note_connected(Instant now, proto::Connection& connection) {
    {
        const Lock lock(mutex_);
        life_.enter(Life::connected);
        connected_since_ = now;
    }
    if (connected_) connected_(connection, driver_.waker_for(connection));
    if (max_rate_) connection.set_max_rate(*max_rate_);
}

void SingleConnection::note_closed(const proto::Connection& connection, const proto::CloseReason& reason) {
    keep_stats(connection);
    connection_ = nullptr;
    const Lock lock(mutex_);
    if (life_ != Life::connected) return;
    const bool by_program = reason.by_peer || reason.application;
    const bool failed = reason.code == ErrorCode::timeout || reason.code == ErrorCode::network ||
                        reason.code == ErrorCode::no_resources;
    life_.enter(failed && !by_program ? Life::lost : Life::ended);
}

void SingleConnection::keep_stats(const proto::Connection& connection) {
    ConnectionStats stats = connection.stats();
    const Lock lock(mutex_);
    if (!connected_since_) return;
    stats_ = std::move(stats);
    stats_at_ = monotonic_now();
}

namespace {

std::string number_of(PathId path) { return "path " + std::to_string(path.value); }

}  // namespace

void log_paths(const LogSink& log, const std::string& whose, bool several, const proto::Event& event) {
    if (!log) return;
    if (const auto* path = std::get_if<proto::event::PathChanged>(&event)) {
        const std::string name =
            whose + number_of(path->id) + " from " + host_text(path->local) + " to " + to_string(path->remote);
        if (path->unreachable) {
            log(LogLevel::warning, name + ": nothing arrives; udtx tries it again from time to time");
        } else {
            log(LogLevel::detail, name + ": " + to_string(path->state));
        }
    }
    if (const auto* moved = std::get_if<proto::event::PeerMoved>(&event)) {
        log(LogLevel::detail, whose + (several ? number_of(moved->path) + ": " : std::string()) +
                                  "the peer's address changed from " + to_string(moved->from) + " to " +
                                  to_string(moved->to));
    }
}

namespace {

/// True if another address of the host may work better.
bool is_unreachable(ErrorCode code) {
    return code == ErrorCode::network || code == ErrorCode::no_resources || code == ErrorCode::no_route ||
           code == ErrorCode::udp_blocked || code == ErrorCode::timeout;
}

}  // namespace

bool Connector::rest_together() const {
    return several_ || (next_ > 0 && std::ranges::find(also_, candidates_[next_].remote) != also_.end());
}

void Connector::try_next() {
    if (rest_together()) {
        const std::vector rest(candidates_.begin() + static_cast<std::ptrdiff_t>(next_), candidates_.end());
        for (const auto& candidate : rest) {
            log(LogLevel::detail, "connecting to " + to_string(candidate.remote) + "/udp" +
                                      (several_ ? " from " + host_text(candidate.local) : std::string()));
        }
        together_ = !several_;
        next_ = candidates_.size();
        begun(*driver().connect(rest, shared_from_this()));
        return;
    }
    const Address& remote = candidates_[next_++].remote;
    log(LogLevel::detail, "connecting to " + to_string(remote) + "/udp");
    begun(*driver().connect(remote, shared_from_this()));
}

void Connector::open_other_paths(Instant now, proto::Connection& connection) {
    if (!several_) return;
    for (const auto& candidate : other_paths(connection.stats().paths.front(), candidates_)) {
        const auto opened = connection.add_path(now, candidate.local, candidate.remote, candidate.options);
        if (!opened) {
            log(LogLevel::warning, "path from " + host_text(candidate.local) + ": " + opened.error().message);
        }
    }
}

void Connector::on_connected(Instant now, proto::Connection& connection) {
    note_connected(now, connection);
    log(LogLevel::detail, "connected to " + to_string(connection.remote()));
    open_other_paths(now, connection);
}

bool Connector::tries_another(proto::CloseReason& reason) {
    const bool more = !connected_since() && !ending() && is_unreachable(reason.code) && next_ < candidates_.size();
    if (more) {
        if (reason.code != ErrorCode::no_route) failed_beyond_ = reason;
        log(LogLevel::detail, to_string(candidates_[next_ - 1].remote) + ": " + reason.message);
        try_next();
        return true;
    }
    // A missing route to another address says less than the failure of an address that has a route. So do those of
    // the addresses that the other end named: other hosts may have them in this network.
    const bool says_less = reason.code == ErrorCode::no_route || together_;
    if (says_less && failed_beyond_ && !connected_since() && !ending()) {
        reason = *failed_beyond_;
    }
    return false;
}

void Connector::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) on_connected(now, connection);
    log_paths(log_, {}, several_, event);
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        note_closed(connection, closed->reason);
        proto::CloseReason reason = closed->reason;
        if (tries_another(reason)) return;
        handler().on_event(now, connection, proto::event::Closed{std::move(reason)});
        return;
    }
    handler().on_event(now, connection, event);
}

}  // namespace udtx::io
