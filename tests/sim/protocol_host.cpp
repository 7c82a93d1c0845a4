#include "sim/protocol_host.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "udtx/core/datagram.hpp"

namespace udtx::sim {
namespace {

constexpr std::size_t kBatchBytes = 65000;
constexpr unsigned kMostTurnsAtOnce = 10000;  // more turns at one instant are a livelock

}  // namespace

ProtocolHost::ProtocolHost(HostSetup setup) : setup_(std::move(setup)), rng_(setup_.seed), buffer_(kBatchBytes) {
    start();
}

ProtocolHost::~ProtocolHost() { kill(); }

void ProtocolHost::start() {
    endpoint_.emplace(proto::EndpointDeps{.provider = setup_.provider,
                                          .handshakes = setup_.handshakes,
                                          .rng = &rng_,
                                          .hello_key = setup_.hello_key,
                                          .reset_key = setup_.reset_key,
                                          .packet_threads = setup_.packet_threads},
                      setup_.config);
    setup_.experiment.apply_to(*endpoint_);
}

void ProtocolHost::kill() {
    *alive_ = false;
    for (const auto& s : sessions_) {
        if (s->connection) s->connection->set_piece_sink(nullptr);
        s->connection.reset();
    }
    endpoint_.reset();
    timer_.reset();
}

void ProtocolHost::start_anew() {
    alive_ = std::make_shared<bool>(true);
    start();
}

void ProtocolHost::listen(std::size_t max_connections, Accept accept) {
    accept_ = std::move(accept);
    endpoint_->listen(max_connections);
}

Session& ProtocolHost::connect(const Address& remote, std::shared_ptr<App> app) {
    return connect(std::vector{proto::PathAddresses{.local = {}, .remote = remote, .options = {}}}, std::move(app));
}

Session& ProtocolHost::connect(std::vector<proto::PathAddresses> candidates, std::shared_ptr<App> app) {
    Session& session = adopt(endpoint_->connect(now(), std::move(candidates)), std::move(app));
    pump();
    return session;
}

Session& ProtocolHost::adopt(std::shared_ptr<proto::Connection> connection, std::shared_ptr<App> app) {
    sessions_.push_back(std::make_unique<Session>());
    Session& session = *sessions_.back();
    connection->set_piece_sink(app.get());
    app->wake_at = [this, &session, alive = alive_](Instant at) {
        call_at(at, [this, &session, alive] {
            if (!*alive || !session.connection) return;
            session.app->on_wake(now(), *session.connection);
            pump();
        });
    };
    session.connection = std::move(connection);
    session.app = std::move(app);
    return session;
}

void ProtocolHost::receive(const Address& local, const Address& remote, std::span<std::byte> data,
                           std::optional<Instant> stamp, proto::Ecn ecn) {
    if (!endpoint_) return;
    const Instant at = now();
    ++counters_.datagrams_received;
    counters_.bytes_received += data.size();
    proto::RxDatagram datagram{
        .local = local, .remote = remote, .data = data, .received = stamp.value_or(at), .ecn = ecn};
    if (setup_.packet_threads > 0) open_ahead(datagram);
    endpoint_->handle_datagram(at, datagram);
    pump();
}

/// Does the work of a packet thread of the driver.
void ProtocolHost::open_ahead(proto::RxDatagram& datagram) const {
    if (const auto opening = endpoint_->opening_of(datagram.data)) {
        proto::open_packet(*opening, datagram, setup_.packet_threads);
    }
}

void ProtocolHost::pump() {
    if (pumping_ || !endpoint_) return;  // an application that calls connect() from a handler is already inside a turn
    pumping_ = true;
    const Instant at = now();
    unsigned turns = 0;
    bool moved = true;
    while (moved) {
        moved = deliver(at);
        moved = transmit(at) || moved;
        if (++turns > kMostTurnsAtOnce) throw std::runtime_error(setup_.name + ": the turn does not end");
    }
    set_timer(at);
    pumping_ = false;
}

bool ProtocolHost::deliver(Instant now) {
    bool any = false;
    while (const auto connection = endpoint_->poll_touched()) {
        const auto found = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                        [&](const auto& s) { return s->connection == connection; });
        if (found == sessions_.rend()) continue;
        any = true;
        deliver(now, **found);
    }
    while (const auto connection = endpoint_->accept()) {
        any = true;
        auto app = accept_ ? accept_(*connection) : nullptr;
        if (!app) {
            connection->close(now, 1, "not accepted");
            continue;
        }
        deliver(now, adopt(connection, std::move(app)));
    }
    return any;
}

void ProtocolHost::deliver(Instant now, Session& session) {
    const auto connection = session.connection;
    while (const auto event = connection->poll_event()) {
        if (std::holds_alternative<proto::event::Connected>(*event)) session.connected_at = now;
        if (const auto* moved = std::get_if<proto::event::PeerMoved>(&*event)) session.moves.push_back(*moved);
        if (const auto* path = std::get_if<proto::event::PathChanged>(&*event)) session.path_changes.push_back(*path);
        if (const auto* closed = std::get_if<proto::event::Closed>(&*event)) {
            session.closed = closed->reason;
            session.closed_at = now;
            session.final_stats = connection->stats();
            connection->set_piece_sink(nullptr);
            session.connection.reset();
            session.app->on_event(now, *connection, *event);
            return;
        }
        session.app->on_event(now, *connection, *event);
    }
    session.app->on_tick(now, *connection);
}

bool ProtocolHost::transmit(Instant now) {
    bool any = false;
    while (const auto t = endpoint_->poll_transmit(now, setup_.max_segments, buffer_)) {
        any = true;
        ++counters_.batches_sent;
        const auto batch = std::span(buffer_).first(t->size);
        if (t->key) proto::seal_batch(*t, batch, setup_.packet_threads);
        for (std::size_t at = 0; at < t->size; at += t->segment) {
            const auto datagram = batch.subspan(at, std::min(t->segment, t->size - at));
            ++counters_.datagrams_sent;
            counters_.bytes_sent += datagram.size();
            send(t->local, t->remote, datagram, t->ecn);
        }
    }
    return any;
}

void ProtocolHost::set_timer(Instant now) {
    const auto due = endpoint_->poll_timeout();
    if (!due) {
        timer_.reset();
        return;
    }
    const Instant at = std::max(*due, now);
    if (timer_ && *timer_ <= at) return;  // the earlier alarm checks the timer again when it fires
    timer_ = at;
    set_alarm(at, static_cast<std::uint64_t>(at.time_since_epoch().count()));
}

void ProtocolHost::on_alarm(std::uint64_t tag) {
    if (!timer_ || static_cast<std::uint64_t>(timer_->time_since_epoch().count()) != tag) return;
    timer_.reset();
    const Instant at = now();
    fired_at_once_ = at == last_fired_ ? fired_at_once_ + 1 : 0;
    last_fired_ = at;
    if (fired_at_once_ > kMostTurnsAtOnce) throw std::runtime_error(setup_.name + ": a timer that never clears");
    const auto due = endpoint_->poll_timeout();
    if (due && *due <= at) {
        endpoint_->handle_timeout(at);
        pump();
    } else {
        set_timer(at);
    }
}

}  // namespace udtx::sim
