#include "io/connector.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "io/path_plan.hpp"
#include "proto/candidates.hpp"
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

void SingleConnection::add_channel(std::shared_ptr<Channel> channel) {
    driver_.post([self = shared_from_this(), channel = std::move(channel)] { self->take_channel(*channel); });
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

Connector::Connector(Setup setup)
    : SingleConnection(setup.driver, std::move(setup.handler), std::move(setup.connected)),
      candidates_(std::move(setup.candidates)),
      several_(setup.several),
      host_(std::move(setup.host)),
      carriers_(std::move(setup.carriers)),
      log_(std::move(setup.log)) {}

void Connector::begin() {
    begun_ = monotonic_now();
    std::vector<proto::PathAddresses> tried = candidates_;
    if (carriers_.udp) {
        for (const auto& candidate : candidates_) {
            log(LogLevel::detail, "connecting to " + text_with_carrier(candidate.remote) +
                                      (several_ ? " from " + host_text(candidate.local) : std::string()));
        }
    } else {
        tried.clear();
    }
    if (uses_tcp() || carriers_.channel || !carriers_.udp) {
        // The connection waits for the byte stream, which is a candidate of its own.
        tried.push_back(candidates_.front());
        tried.back().after = proto::Candidates::kNever;
        if (carriers_.udp) tried.back().remote.carrier = Carrier::tcp;  // it stays when UDP is refused
    }
    driver().carriers().on_gone([this, weak = weak_from_this()](const StreamCarrier& carrier) {
        if (const auto self = weak.lock()) on_stream_gone(carrier);
    });
    begun(*driver().connect(std::move(tried), shared_from_this()));
    if (uses_tcp()) connect_tcp(carriers_.udp ? kUdpFirst : Duration::zero());
}

// --- the byte stream

/// Runs on the protocol thread, or before it.
void Connector::connect_tcp(Duration pause) {
    if (!tcp_connector_) {
        TcpTarget target{.host = host_, .addresses = {}, .ports = {}, .proxy = carriers_.proxy};
        for (const auto& candidate : candidates_) target.addresses.push_back(candidate.remote);
        if (tcp_ports_) {
            for (Address& address : target.addresses) address.port = tcp_ports_->front();
        }
        target.ports = tcp_ports_.value_or(carriers_.tcp_ports);
        tcp_connector_ =
            std::make_unique<TcpConnector>(std::move(target), [this](Result<std::unique_ptr<StreamCarrier>> carrier) {
                // The thread of tcp_connector_ ends before this object does.
                const std::weak_ptr<SingleConnection> weak = weak_from_this();
                driver().post(
                    [this, weak,
                     made = std::make_shared<Result<std::unique_ptr<StreamCarrier>>>(std::move(carrier))]() mutable {
                        if (const auto self = weak.lock()) on_tcp_connected(std::move(*made));
                    });
            });
    }
    if (const auto begun = tcp_connector_->connect_after(pause); !begun) log(LogLevel::warning, begun.error().message);
}

void Connector::on_tcp_connected(Result<std::unique_ptr<StreamCarrier>> carrier) {
    if (stream_) {
        // UDP may have returned meanwhile.
        if (!count_.opening()) return;
        return carrier ? use_further_stream(std::move(*carrier)) : count_.on_failed();
    }
    if (carrier) {
        no_stream_.reset();
        return use_stream(std::move(*carrier));
    }
    if (carrier.error().code == ErrorCode::interrupted || ending()) return;
    // Who names a proxy expects it to work.
    const bool told = no_stream_ && no_stream_->message == carrier.error().message;
    log(carriers_.proxy && !told && !connected_since() ? LogLevel::warning : LogLevel::detail, carrier.error().message);
    no_stream_ = carrier.error();
    if ((!carriers_.udp || refused_) && !connected_since()) {
        // on_event() gives the cause.
        return act([](Instant now, proto::Connection& connection) { connection.close(now, 1, {}); });
    }
    connect_tcp(kConnectAgain);
}

void Connector::on_refused(Instant now, proto::Connection& /*connection*/, const Error& why) {
    refused_ = why;
    if (!uses_tcp() || stream_) return;
    log(LogLevel::detail, why.message);
    if (no_stream_) {
        return act([](Instant then, proto::Connection& closing) { closing.close(then, 1, {}); });
    }
    if (now - begun_ >= kUdpFirst) return;  // an attempt runs
    tcp_connector_.reset();
    connect_tcp(Duration::zero());
}

/// A stream that ends during the handshake was never a path: a server that has no room closes it.
void Connector::on_stream_gone(const StreamCarrier& carrier) {
    if (connected_since() || ending() || !stream_ || stream_->local != carrier.local()) return;
    const std::string end = describe_end(carrier.remote(), carrier.over().value_or(""));
    log(LogLevel::detail, end);
    stream_.reset();
    if (uses_tcp()) return connect_tcp(kConnectAgain);
    if (carriers_.udp && !refused_) return;
    // Nothing else is left. on_event() gives the cause.
    no_stream_ = Error{ErrorCode::network, end};
    act([](Instant now, proto::Connection& connection) { connection.close(now, 1, {}); });
}

void Connector::take_channel(const Channel& channel) { use_stream(ChannelAccess::carrier(channel)); }

void Connector::use_stream(const std::shared_ptr<StreamCarrier>& carrier) {
    driver().carriers().add(carrier);
    stream_ = proto::PathAddresses{
        .local = carrier->local(), .remote = carrier->remote(), .options = {.standby = carriers_.udp}};
    if (carriers_.udp && !refused_) stream_->after = kUdpFirst;
    log(LogLevel::detail, "a connection over " + text_with_carrier(carrier->remote()) + " is open");
    act([this, self = shared_from_this()](Instant now, proto::Connection& connection) {
        if (!stream_) return;  // it has ended meanwhile
        connection.add_candidate(now, *stream_);
        open_stream_path(now, connection);
    });
}

/// Opens the path over the byte stream, if it is not the first one.
void Connector::open_stream_path(Instant now, proto::Connection& connection) {
    if (!stream_ || !connection.connected() || connection.remote() == stream_->remote) return;
    const auto opened = connection.add_path(now, stream_->local, stream_->remote, stream_->options);
    if (!opened) log(LogLevel::detail, text_with_carrier(stream_->remote) + ": " + opened.error().message);
}

// --- further TCP connections

void Connector::on_turn_end() {
    SingleConnection::on_turn_end();
    if (!uses_tcp() || monotonic_now() < count_.next()) return;
    act([this, self = shared_from_this()](Instant now, proto::Connection& connection) {
        count_streams(now, connection);
    });
}

void Connector::count_streams(Instant now, proto::Connection& connection) {
    std::uint64_t bytes = 0;
    bool carry = stream_.has_value();
    for (const PathStats& path : connection.stats().paths) {
        if (path.remote.carrier == Carrier::tcp) {
            bytes += path.delivered_bytes + path.received_bytes;
        } else if (path.state == PathState::active) {
            carry = false;
        }
    }
    if (!carry) {
        while (!further_.empty()) close_newest_stream(now, connection);
        return count_.restart(now);
    }
    switch (count_.look(now, bytes)) {
        case StreamCount::Wish::open:
            return connect_tcp(Duration::zero());
        case StreamCount::Wish::close_newest:
            return close_newest_stream(now, connection);
        case StreamCount::Wish::nothing:
            return;
    }
}

void Connector::use_further_stream(std::unique_ptr<StreamCarrier> carrier) {
    act([this, self = shared_from_this(), opened = std::shared_ptr<StreamCarrier>(std::move(carrier))](
            Instant now, proto::Connection& connection) {
        if (!count_.opening() || !stream_) return;
        driver().carriers().add(opened);
        const auto path = connection.add_path(now, opened->local(), opened->remote(), stream_->options);
        if (!path) {
            opened->close();
            return count_.on_failed();
        }
        further_.push_back(opened);
        count_.on_opened(now);
        log(LogLevel::detail, std::to_string(count_.count()) + " TCP connections carry the data");
    });
}

void Connector::close_newest_stream(Instant now, proto::Connection& connection) {
    if (further_.empty()) return;
    const auto carrier = std::move(further_.back());
    further_.pop_back();
    for (const PathStats& path : connection.stats().paths) {
        if (path.local != carrier->local() || path.remote != carrier->remote()) continue;
        // Another path works: the other connections.
        if (!connection.remove_path(now, path.id)) return;
    }
    carrier->close();
    log(LogLevel::detail, "a further TCP connection brings little, and is closed");
}

// --- paths

void Connector::open_paths(Instant now, proto::Connection& connection, const std::vector<proto::PathAddresses>& paths) {
    for (const auto& path : paths) {
        const auto opened = connection.add_path(now, path.local, path.remote, path.options);
        if (!opened) log(LogLevel::warning, "path from " + host_text(path.local) + ": " + opened.error().message);
    }
}

void Connector::open_other_paths(Instant now, proto::Connection& connection) {
    const bool carried = connection.remote().carrier != Carrier::udp;
    if (several_) return open_paths(now, connection, other_paths(connection.stats().paths.front(), candidates_));
    if (!carried || !carriers_.udp) return;
    log(LogLevel::warning,
        "UDP brings no answer; the data goes over " +
            (connection.remote().carrier == Carrier::relay ? "the relay" : text_with_carrier(connection.remote())) +
            ", and UDP is tried on");
    const std::size_t count = std::min(candidates_.size(), kMostTried);
    open_paths(now, connection, {candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count)});
}

void Connector::on_connected(Instant now, proto::Connection& connection) {
    note_connected(now, connection);
    log(LogLevel::detail, "connected to " + text_with_carrier(connection.remote()));
    open_other_paths(now, connection);
    open_stream_path(now, connection);
    if (connection.remote().carrier != Carrier::udp || !uses_tcp()) return;
    // TCP stands by only where the server has it.
    tcp_connector_.reset();
    const auto ports = connection.peer_tcp_ports();
    tcp_ports_.emplace(ports.begin(), ports.end());
    if (!tcp_ports_->empty()) connect_tcp(kUdpFirst);
}

void Connector::on_path_changed(const proto::event::PathChanged& path) {
    const bool lost = path.state == PathState::closed && path.remote.carrier == Carrier::tcp;
    if (!lost || !uses_tcp()) return;
    const auto is_lost = [&](const auto& carrier) { return carrier->local() == path.local; };
    if (std::erase_if(further_, is_lost) > 0) return;
    if (stream_ && stream_->local != path.local) return;  // it was closed here
    if (!further_.empty()) {
        stream_->local = further_.front()->local();
        stream_->remote = further_.front()->remote();
        further_.erase(further_.begin());
        return;
    }
    if (ending() || (tcp_ports_ && tcp_ports_->empty())) return;
    stream_.reset();
    count_.restart(monotonic_now());
    connect_tcp(kConnectAgain);
}

void Connector::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Connected>(event)) on_connected(now, connection);
    if (const auto* path = std::get_if<proto::event::PathChanged>(&event)) on_path_changed(*path);
    log_paths(log_, {}, several_, event);
    if (const auto* closed = std::get_if<proto::event::Closed>(&event)) {
        note_closed(connection, closed->reason);
        proto::CloseReason reason = closed->reason;
        if (!connected_since() && !stream_ && (refused_ || (!carriers_.udp && no_stream_))) {
            const Error& why = refused_ ? *refused_ : *no_stream_;
            reason = {.code = why.code, .message = why.message};
        }
        handler().on_event(now, connection, proto::event::Closed{std::move(reason)});
        return;
    }
    handler().on_event(now, connection, event);
}

}  // namespace udtx::io
