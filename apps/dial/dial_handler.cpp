#include "dial/dial_handler.hpp"

#include <utility>
#include <variant>

#include "io/monotonic_clock.hpp"
#include "io/path_plan.hpp"
#include "observe/path_progress.hpp"

namespace udtx::apps {
DialHandler::DialHandler(io::Driver& driver, std::vector<proto::PathAddresses> candidates, bool several,
                         transfer::Job& job, Log& log)
    : driver_(driver), candidates_(std::move(candidates)), several_(several), job_(job), log_(log) {}

void DialHandler::dial() { dial_next(); }

void DialHandler::dial_next() {
    if (several_) {
        for (const auto& way : candidates_)
            log_.detail("dialling " + to_string(way.remote) + "/udp from " + host_text(way.local));
        next_ = candidates_.size();
        connection_ = driver_.connect(candidates_, shared_from_this());
        return;
    }
    const Address& remote = candidates_[next_++].remote;
    log_.detail("dialling " + to_string(remote) + "/udp");
    connection_ = driver_.connect(remote, shared_from_this());
}

void DialHandler::open_other_paths(Instant now, proto::Connection& connection) {
    if (!several_) return;
    for (const auto& way : io::other_ways(connection.stats().paths.front(), candidates_)) {
        const auto opened = connection.add_path(now, way.local, way.remote, way.options);
        if (!opened) log_.warn("path from " + host_text(way.local) + ": " + opened.error().message);
    }
}

void DialHandler::tell(const proto::event::PathChanged& path) {
    const std::string name =
        "path " + std::to_string(path.id.value) + " from " + host_text(path.local) + " to " + to_string(path.remote);
    if (path.unreachable) {
        log_.warn(name + ": nothing comes back; it is asked for from time to time");
    } else {
        log_.detail(name + ": " + to_string(path.state));
    }
}

void DialHandler::abort(ErrorCode code, const std::string& reason) {
    driver_.post([self = shared_from_this(), code, reason] {
        self->aborted_ = true;
        if (self->connection_) self->job_.abort(io::monotonic_now(), *self->connection_, code, reason);
    });
}

void DialHandler::suspect_end() {
    driver_.post([self = shared_from_this()] {
        if (self->connection_) self->connection_->suspect(io::monotonic_now(), proto::Evidence::exited);
    });
}

void DialHandler::set_max_rate(Rate rate) {
    driver_.post([self = shared_from_this(), rate] {
        self->max_rate_ = rate;
        if (self->connection_) self->connection_->set_max_rate(rate);
    });
}

void DialHandler::sample_stats() {
    driver_.post([self = shared_from_this()] {
        if (self->connection_) self->keep_stats(*self->connection_);
    });
}

bool DialHandler::connected() const { return connected_since().has_value(); }

std::optional<Instant> DialHandler::connected_since() const {
    const std::lock_guard lock(mutex_);
    return connected_since_;
}

bool DialHandler::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

std::optional<ConnectionStats> DialHandler::final_stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

Instant DialHandler::stats_at() const {
    const std::lock_guard lock(mutex_);
    return stats_at_;
}

bool DialHandler::try_another(const proto::CloseReason& reason) {
    const bool unreachable = reason.code == ErrorCode::network || reason.code == ErrorCode::no_route ||
                             reason.code == ErrorCode::udp_blocked || reason.code == ErrorCode::timeout;
    if (connected() || aborted_ || !unreachable || next_ == candidates_.size()) return false;
    if (reason.code != ErrorCode::no_route) failed_beyond_ = reason;
    log_.detail(to_string(candidates_[next_ - 1].remote) + ": " + reason.message);
    dial_next();
    return true;
}

void DialHandler::keep_stats(const proto::Connection& connection) {
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    if (!connected_since_) return;
    stats_ = std::move(stats);
    stats_at_ = io::monotonic_now();
}

void DialHandler::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) {
        {
            const std::lock_guard lock(mutex_);
            connected_since_ = now;
        }
        job_.set_waker(driver_.waker_for(connection));
        if (max_rate_) connection.set_max_rate(*max_rate_);
        log_.detail("connected to " + to_string(connection.remote()));
        open_other_paths(now, connection);
    }
    if (const auto* path = std::get_if<proto::event::PathChanged>(&event)) tell(*path);
    if (const auto* moved = std::get_if<proto::event::PeerMoved>(&event)) {
        log_.detail((several_ ? "path " + std::to_string(moved->path.value) + ": " : std::string()) +
                    "the peer's address changed from " + to_string(moved->from) + " to " + to_string(moved->to));
    }
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        keep_stats(connection);
        connection_.reset();
        if (try_another(closed->reason)) return;
        // That another address has no route says less than what became of one that has.
        if (closed->reason.code == ErrorCode::no_route && failed_beyond_) {
            job_.on_event(now, connection, proto::event::Closed{*failed_beyond_});
            return;
        }
        const ErrorCode why = closed->reason.code;
        const std::lock_guard lock(mutex_);
        lost_ = connected_since_ && !closed->reason.by_peer && !closed->reason.application &&
                (why == ErrorCode::timeout || why == ErrorCode::network);
    }
    job_.on_event(now, connection, event);
}

void DialHandler::on_wake(Instant now, proto::Connection& connection) { job_.on_wake(now, connection); }

void DialHandler::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    job_.on_placed(id, offset, bytes);
}

}  // namespace udtx::apps
