#include <algorithm>
#include <cassert>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/address.hpp"
#include "crypto/packet_protection.hpp"
#include "crypto/proofs.hpp"
#include "proto/close_reason.hpp"
#include "proto/connection_impl.hpp"
#include "udtx/config.hpp"
#include "udtx/core/endpoint.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

class UDTX_LOCAL Endpoint::Impl {
  public:
    Impl(EndpointDeps deps, TransportConfig config);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    struct Entry {
        std::shared_ptr<Connection> connection{};
        std::optional<Instant> deadline{};  // as stored in timers_
        bool told = false;                  // is in events_
        bool queued = false;                // is in ready_
        bool outdated = false;              // its handshake uses a pre-shared key that was replaced
    };
    struct Reply {
        Address local;
        Address remote;
        std::vector<std::byte> bytes;
    };

    std::shared_ptr<Connection> add(Instant now, Connection::Impl::Setup setup);
    /// An exception of `call` ends only this connection.
    template <class Call>
    static void guard(Instant now, Connection::Impl& connection, const Call& call) {
        try {
            call();
        } catch (const std::exception& failed) {
            connection.give_up(now, failed);
        }
    }
    void on_touched(ConnectionId id, Entry& entry);
    void file_deadline(ConnectionId id, Entry& entry);
    void remove(ConnectionId id);
    [[nodiscard]] const Entry* find(ConnectionId id);
    void after_datagram(Instant now, const std::shared_ptr<Connection>& connection, bool was_connected);
    [[nodiscard]] bool make_room(Instant now, const Address& remote);
    void on_hello(Instant now, const RxDatagram& datagram);
    void reply_retry(Instant now, const RxDatagram& datagram, const wire::LongHeader& header);
    void reply_versions(const RxDatagram& datagram, const wire::LongHeader& header);
    void on_stray(Instant now, const RxDatagram& datagram, const wire::ShortHeader& header);
    [[nodiscard]] ConnectionId fresh_id();

    static constexpr std::size_t kMaxReplies = 64;
    static constexpr std::size_t kMaxResets = 16;  // of kMaxReplies: replies to handshakes have priority

    EndpointDeps deps_;
    TransportConfig config_;
    Experiment experiment_;
    crypto::CookieJar cookies_;
    std::optional<crypto::HelloProofs> proofs_;
    std::optional<ResetReplies> resets_;
    std::size_t max_connections_ = 0;
    std::unordered_map<ConnectionId, Entry> connections_;           // by local id
    const std::pair<const ConnectionId, Entry>* newest_ = nullptr;  // entry of connections_ that got the last datagram
    std::unordered_map<ConnectionId, ConnectionId> by_original_;    // server: client's first destination id -> local id
    std::vector<ConnectionId> outgoing_;                            // connections that this end opened
    std::deque<ConnectionId> half_open_;                            // oldest first
    std::deque<ConnectionId> ready_;                                // to poll for datagrams, round robin
    std::deque<ConnectionId> events_;                               // to poll for events
    std::set<std::pair<Instant, ConnectionId>> timers_;
    std::deque<std::shared_ptr<Connection>> accepted_;
    std::deque<Reply> replies_;  // stateless answers, bounded
    std::shared_ptr<WindowMemory> window_memory_ =
        deps_.window_memory ? deps_.window_memory : std::make_shared<WindowMemory>(config_.max_memory);
};

Endpoint::Impl::Impl(EndpointDeps deps, TransportConfig config)
    : deps_(deps), config_(std::move(config)), cookies_(*deps.provider, *deps.rng) {
    if (deps.hello_key) proofs_.emplace(*deps.provider, *deps.hello_key);
    if (deps.reset_key) resets_.emplace(*deps.provider, *deps.reset_key);
}

Endpoint::Impl::~Impl() {
    // A handler may hold a connection longer. That connection must not call into a destroyed endpoint.
    for (auto& [id, entry] : connections_) entry.connection->impl_->forget_owner();
}

Endpoint::Endpoint(EndpointDeps deps, TransportConfig config)
    : impl_(std::make_unique<Impl>(deps, std::move(config))) {}
Endpoint::~Endpoint() = default;

void Endpoint::announce_tcp(std::vector<std::uint16_t> ports) { impl_->deps_.tcp_ports = std::move(ports); }
void Endpoint::listen(std::size_t max_connections) { impl_->max_connections_ = max_connections; }
std::size_t Endpoint::connection_count() const noexcept { return impl_->connections_.size(); }
std::size_t Endpoint::half_open_count() const noexcept { return impl_->half_open_.size(); }

void Endpoint::set_keys(crypto::HandshakeFactory& handshakes, const std::optional<crypto::Secret>& hello_key,
                        const std::optional<crypto::Secret>& reset_key) {
    impl_->deps_.handshakes = &handshakes;
    // The proofs of a key that stays must not be used once more.
    if (impl_->deps_.hello_key != hello_key) {
        impl_->deps_.hello_key = hello_key;
        impl_->proofs_.reset();
        if (hello_key) impl_->proofs_.emplace(*impl_->deps_.provider, *hello_key);
        for (const ConnectionId id : impl_->half_open_) impl_->connections_.at(id).outdated = true;
    }
    impl_->deps_.reset_key = reset_key;
    impl_->resets_.reset();
    if (reset_key) impl_->resets_.emplace(*impl_->deps_.provider, *reset_key);
}

ConnectionId Endpoint::Impl::fresh_id() {
    for (;;) {
        const std::uint64_t drawn = deps_.rng->next_u64() & kMaxChosenId;
        const ConnectionId id{drawn - drawn % deps_.shares + deps_.share};
        if (id.value <= kMaxChosenId && !connections_.contains(id)) return id;
    }
}

std::shared_ptr<Connection> Endpoint::Impl::add(Instant now, Connection::Impl::Setup setup) {
    const ConnectionId id = setup.local;
    Entry& entry = connections_[id];  // it keeps this address until remove()
    try {
        setup.on_touched = [this, id, &entry] { on_touched(id, entry); };
        setup.window_memory = window_memory_;
        setup.experiment = experiment_;
        auto impl = std::make_unique<Connection::Impl>(deps_, config_, std::move(setup), now);
        entry.connection.reset(new Connection(std::move(impl)));
        on_touched(id, entry);
        return entry.connection;
    } catch (...) {  // out of memory
        connections_.erase(id);
        throw;
    }
}

std::shared_ptr<Connection> Endpoint::connect(Instant now, std::vector<PathAddresses> candidates) {
    assert(!candidates.empty());
    const ConnectionId original{impl_->deps_.rng->next_u64()};
    const PathAddresses first = candidates.front();
    const ConnectionId local = impl_->fresh_id();
    impl_->outgoing_.reserve(impl_->outgoing_.size() + 1);
    auto connection = impl_->add(now, {.role = Role::client,
                                       .local = local,
                                       .remote = original,
                                       .original = original,
                                       .local_address = first.local,
                                       .remote_address = first.remote,
                                       .path = first.options,
                                       .candidates = std::move(candidates)});
    impl_->outgoing_.push_back(local);
    return connection;
}

std::shared_ptr<Connection> Endpoint::accept() {
    if (impl_->accepted_.empty()) return nullptr;
    auto connection = std::move(impl_->accepted_.front());
    impl_->accepted_.pop_front();
    return connection;
}

std::shared_ptr<Connection> Endpoint::poll_touched() {
    while (!impl_->events_.empty()) {
        const ConnectionId id = impl_->events_.front();
        impl_->events_.pop_front();
        const auto it = impl_->connections_.find(id);
        if (it == impl_->connections_.end()) continue;
        Impl::Entry& entry = it->second;
        entry.told = false;
        if (entry.connection->impl_->drained() && !entry.queued) {  // last events: let it be removed
            entry.queued = true;
            impl_->ready_.push_back(id);
        }
        return entry.connection;
    }
    return nullptr;
}

void Endpoint::Impl::on_touched(ConnectionId id, Entry& entry) {
    if (!entry.told) events_.push_back(id);
    entry.told = true;
    if (!entry.queued) ready_.push_back(id);
    entry.queued = true;
}

void Endpoint::Impl::file_deadline(ConnectionId id, Entry& entry) {
    const auto due = entry.connection->impl_->poll_timeout();
    if (due == entry.deadline) return;
    if (entry.deadline) timers_.erase({*entry.deadline, id});
    if (due) timers_.insert({*due, id});
    entry.deadline = due;
}

void Endpoint::Impl::remove(ConnectionId id) {
    const auto it = connections_.find(id);
    if (it == connections_.end()) return;
    if (it->second.deadline) timers_.erase({*it->second.deadline, id});
    const auto& setup = it->second.connection->impl_->setup();
    if (setup.role == Role::server) by_original_.erase(setup.original);
    std::erase(half_open_, id);
    std::erase(outgoing_, id);
    it->second.connection->impl_->forget_owner();
    if (newest_ == &*it) newest_ = nullptr;
    connections_.erase(it);
}

// --- datagrams in

// Usually the connection of the preceding datagram.
const Endpoint::Impl::Entry* Endpoint::Impl::find(ConnectionId id) {
    if (newest_ != nullptr && newest_->first == id) return &newest_->second;
    const auto it = connections_.find(id);
    newest_ = it == connections_.end() ? nullptr : &*it;
    return newest_ == nullptr ? nullptr : &newest_->second;
}

void Endpoint::handle_datagram(Instant now, const RxDatagram& datagram) {
    ConnectionId id;
    if (wire::is_long_header(datagram.data)) {
        const auto header = wire::parse_long_header(datagram.data);
        if (!header) return;
        id = header->destination;
        if (!impl_->connections_.contains(id)) {
            const auto alias = impl_->by_original_.find(id);
            if (alias == impl_->by_original_.end()) {
                try {
                    impl_->on_hello(now, datagram);
                } catch (const std::exception&) {
                    // There is no memory for another connection. The datagram is treated as lost.
                }
                return;
            }
            id = alias->second;
        }
    } else {
        const auto header = wire::parse_short_header(datagram.data);
        if (!header) return;
        id = header->destination;
        if (impl_->find(id) == nullptr) {
            impl_->on_stray(now, datagram, *header);
            return;
        }
    }
    const Impl::Entry* entry = impl_->find(id);
    if (entry == nullptr) return;
    const std::shared_ptr<Connection>& connection = entry->connection;  // only poll_transmit() removes it
    const bool was_connected = connection->impl_->connected();
    impl_->guard(now, *connection->impl_, [&] {
        connection->impl_->handle_datagram(now, datagram);
        impl_->after_datagram(now, connection, was_connected);
    });
}

/// A data packet of an unknown connection: the server has lost ours, or this end has lost a client's.
void Endpoint::Impl::on_stray(Instant now, const RxDatagram& datagram, const wire::ShortHeader& header) {
    for (const ConnectionId id : outgoing_) {
        if (connections_.at(id).connection->impl_->on_reset(now, datagram)) return;
    }
    if (!resets_ || max_connections_ == 0 || replies_.size() >= kMaxResets) return;
    const auto reset = resets_->answer(now, header.destination, datagram.data);
    if (reset) replies_.push_back({datagram.local, datagram.remote, {reset->begin(), reset->end()}});
}

std::optional<Opening> Endpoint::opening_of(std::span<const std::byte> datagram) const {
    if (wire::is_long_header(datagram) || datagram.size() < wire::kShortHeaderBytes + wire::kTagBytes)
        return std::nullopt;
    const auto header = wire::parse_short_header(datagram);
    const auto it = header ? impl_->connections_.find(header->destination) : impl_->connections_.end();
    return it == impl_->connections_.end() ? std::nullopt : it->second.connection->impl_->opening_of(*header);
}

void Endpoint::Impl::after_datagram(Instant now, const std::shared_ptr<Connection>& connection, bool was_connected) {
    if (connection->impl_->setup().role != Role::server || was_connected || !connection->impl_->connected()) return;
    const ConnectionId local = connection->impl_->setup().local;
    std::erase(half_open_, local);
    if (connections_.at(local).outdated) {
        connection->impl_->refuse(now, {ErrorCode::authentication, "the server has replaced its pre-shared key"});
    } else if (connections_.size() - half_open_.size() > max_connections_) {
        connection->impl_->refuse(
            now, {ErrorCode::no_resources, "the server has reached its limit of connections; try again later"});
    } else {
        accepted_.push_back(connection);
    }
}

bool Endpoint::Impl::make_room(Instant now, const Address& remote) {
    const auto host_of = [this](ConnectionId id) -> const Address& {
        return connections_.at(id).connection->impl_->setup().remote_address;
    };
    const auto same_host = [&](ConnectionId id) {
        return std::ranges::equal(host_part(host_of(id)), host_part(remote));
    };
    const bool host_full =
        static_cast<std::size_t>(std::ranges::count_if(half_open_, same_host)) >= kMaxHalfOpenPerHost;
    if (!host_full && half_open_.size() < kMaxHalfOpen) return true;
    const auto oldest = host_full ? std::ranges::find_if(half_open_, same_host) : half_open_.begin();
    if (now - connections_.at(*oldest).connection->impl_->started() < kHalfOpenGrace) return false;
    remove(*oldest);
    return true;
}

void Endpoint::Impl::on_hello(Instant now, const RxDatagram& datagram) {
    const auto header = wire::parse_long_header(datagram.data);
    if (!header || max_connections_ == 0) return;
    if (header->type == wire::LongType::version_negotiation || header->type == wire::LongType::retry) return;
    if (datagram.data.size() < wire::kLeastInitialDatagram) return;
    if (!wire::speaks(header->version)) {
        reply_versions(datagram, *header);
        return;
    }
    if (header->type != wire::LongType::hello) return;
    const bool keyed = proofs_ && proofs_->check(header->destination, header->token);
    if (!keyed && !cookies_.check(now, datagram.remote, header->destination, header->token)) {
        reply_retry(now, datagram, *header);
        return;
    }
    // A client above the limit may finish its handshake, so that it can be told. The number of such clients is bounded
    // too.
    const std::size_t established = connections_.size() - half_open_.size();
    if (established >= max_connections_ + kMaxHalfOpen || !make_room(now, datagram.remote)) return;
    const ConnectionId original = header->destination;
    const auto connection = add(now, {.role = Role::server,
                                      .local = fresh_id(),
                                      .remote = header->source,
                                      .original = original,
                                      .version = header->version,
                                      .local_address = datagram.local,
                                      .remote_address = datagram.remote,
                                      .address_proved = !keyed});
    try {
        by_original_.emplace(original, connection->impl_->setup().local);
        half_open_.push_back(connection->impl_->setup().local);
        connection->impl_->handle_datagram(now, datagram);
    } catch (const std::exception&) {
        return remove(connection->impl_->setup().local);  // treated as lost: its next copy may find more room
    }
    // The packet was damaged on the way. Its header may be wrong, so the next copy must find no state of it.
    if (!connection->impl_->heard()) return remove(connection->impl_->setup().local);
    if (keyed) proofs_->remember(original);
}

void Endpoint::Impl::reply_retry(Instant now, const RxDatagram& datagram, const wire::LongHeader& header) {
    if (replies_.size() >= kMaxReplies) return;
    const auto cookie = cookies_.make(now, datagram.remote, header.destination);
    wire::LongHeader retry;
    retry.type = wire::LongType::retry;
    retry.version = header.version;
    retry.destination = header.source;
    retry.source = header.destination;
    retry.token = cookie;
    Reply reply{datagram.local, datagram.remote, std::vector<std::byte>(wire::kMinInitialDatagram)};
    const std::size_t size = wire::write_long_header(retry, reply.bytes);
    const auto tag = crypto::retry_tag(*deps_.provider, header.destination, std::span(reply.bytes).first(size));
    std::copy(tag.begin(), tag.end(), reply.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    reply.bytes.resize(size + tag.size());
    replies_.push_back(std::move(reply));
}

void Endpoint::Impl::reply_versions(const RxDatagram& datagram, const wire::LongHeader& header) {
    if (replies_.size() >= kMaxReplies) return;
    wire::LongHeader answer;
    answer.type = wire::LongType::version_negotiation;
    answer.version = 0;
    answer.destination = header.source;
    answer.source = header.destination;
    Reply reply{datagram.local, datagram.remote, std::vector<std::byte>(64)};
    const std::size_t size = wire::write_long_header(answer, reply.bytes);
    wire::Writer w(std::span(reply.bytes).subspan(size));
    for (const std::uint32_t version : wire::kVersions) w.u32(version);
    reply.bytes.resize(size + w.size());
    replies_.push_back(std::move(reply));
}

// --- datagrams out, timers

std::optional<Transmit> Endpoint::poll_transmit(Instant now, std::size_t max_segments, std::span<std::byte> out) {
    while (!impl_->replies_.empty()) {
        const Impl::Reply reply = std::move(impl_->replies_.front());
        impl_->replies_.pop_front();
        if (reply.bytes.size() > out.size()) continue;
        std::copy(reply.bytes.begin(), reply.bytes.end(), out.begin());
        return Transmit{
            .local = reply.local, .remote = reply.remote, .size = reply.bytes.size(), .segment = reply.bytes.size()};
    }
    while (!impl_->ready_.empty()) {
        const ConnectionId id = impl_->ready_.front();
        impl_->ready_.pop_front();
        const auto it = impl_->connections_.find(id);
        if (it == impl_->connections_.end()) continue;
        Impl::Entry& entry = it->second;
        std::optional<Transmit> t;
        impl_->guard(now, *entry.connection->impl_, [&] {
            auto built = entry.connection->impl_->poll_transmit(now, max_segments, out);
            if (built) impl_->ready_.push_back(id);
            t = std::move(built);
        });
        if (t) return t;
        entry.queued = false;
        if (entry.connection->impl_->drained() && !entry.told) {
            impl_->remove(id);
        } else {
            impl_->file_deadline(id, entry);
        }
    }
    return std::nullopt;
}

std::optional<Instant> Endpoint::poll_timeout() const {
    if (impl_->timers_.empty()) return std::nullopt;
    return impl_->timers_.begin()->first;
}

void Endpoint::handle_timeout(Instant now) {
    while (!impl_->timers_.empty() && impl_->timers_.begin()->first <= now) {
        const ConnectionId id = impl_->timers_.begin()->second;
        impl_->timers_.erase(impl_->timers_.begin());
        Impl::Entry& entry = impl_->connections_.at(id);
        entry.deadline.reset();
        impl_->guard(now, *entry.connection->impl_, [&] { entry.connection->impl_->handle_timeout(now); });
    }
}

void Endpoint::on_datagram_too_large(Instant now, const Transmit& refused) {
    const auto it = impl_->connections_.find(refused.connection);
    if (it == impl_->connections_.end()) return;
    Connection::Impl& connection = *it->second.connection->impl_;
    impl_->guard(now, connection,
                 [&] { connection.on_datagram_too_large(now, refused.path, std::min(refused.segment, refused.size)); });
}

void Endpoint::on_no_route(Instant now, const Transmit& refused, std::string why, bool may_pass) {
    const auto it = impl_->connections_.find(refused.connection);
    if (it == impl_->connections_.end()) return;
    Connection::Impl& connection = *it->second.connection->impl_;
    impl_->guard(now, connection,
                 [&] { connection.on_no_route(now, refused.local, refused.remote, std::move(why), may_pass); });
}

void Endpoint::on_carrier_full(ConnectionId connection, const Address& local, const Address& remote, bool full) {
    const auto it = impl_->connections_.find(connection);
    if (it != impl_->connections_.end()) it->second.connection->impl_->on_carrier_full(local, remote, full);
}

void Endpoint::on_carrier_gone(Instant now, ConnectionId connection, const Address& local, const Address& remote,
                               const std::string& why) {
    const auto it = impl_->connections_.find(connection);
    if (it == impl_->connections_.end()) return;
    Connection::Impl& gone = *it->second.connection->impl_;
    impl_->guard(now, gone, [&] { gone.on_carrier_gone(now, local, remote, why); });
}

bool Endpoint::connected(ConnectionId connection) const {
    const auto it = impl_->connections_.find(connection);
    return it != impl_->connections_.end() && it->second.connection->impl_->connected();
}

void Experiment::apply_to(Endpoint& endpoint) const { endpoint.impl_->experiment_ = *this; }

}  // namespace udtx::proto
