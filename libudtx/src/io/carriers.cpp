#include "io/carriers.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/address.hpp"
#include "io/addresses.hpp"
#include "io/socket_setup.hpp"

namespace udtx::io {
namespace {

constexpr int kAcceptsInTurn = 16;
constexpr Duration kAcceptAgain = std::chrono::milliseconds(100);

/// Connections that a stream has carried, from which on those that are over are forgotten.
constexpr std::size_t kManyUsers = 64;

}  // namespace

std::string describe_end(const Address& remote, const std::string& why) {
    return std::string("the connection over ") + carrier_name(remote.carrier) + " has ended" +
           (why.empty() ? std::string() : ": " + why);
}

void Carriers::take(Instant now, std::shared_ptr<StreamCarrier> carrier, Instant accepted) {
    if (make_room(now, carrier->remote())) add(std::move(carrier), accepted);
}

void Carriers::add(std::shared_ptr<StreamCarrier> carrier, std::optional<Instant> accepted) {
    entries_.push_back(std::make_unique<Entry>(
        Entry{.carrier = std::move(carrier), .since = accepted, .accepted = accepted.has_value(), .share = share_}));
}

void Carriers::listen(UniqueFd listening, std::shared_ptr<openssl::TlsStreams> tls) {
    ports_.push_back({.socket = std::move(listening), .tls = std::move(tls)});
}

Carriers::Entry* Carriers::find(const Address& local, const Address& remote) {
    const auto found = std::ranges::find_if(entries_, [&](const auto& entry) {
        return entry->carrier->remote() == remote && entry->carrier->local() == local;
    });
    return found == entries_.end() ? nullptr : found->get();
}

void Carriers::send(Instant now, const proto::Transmit& transmit, std::span<const std::byte> batch) {
    Entry* const entry = find(transmit.local, transmit.remote);
    if (entry == nullptr || entry->carrier->over()) {
        endpoint_.on_carrier_gone(now, transmit.connection, transmit.local, transmit.remote,
                                  describe_end(transmit.remote, {}));
        return;
    }
    // Who has not proven a key may ask without reading the answers.
    if (entry->carrier->full() && !endpoint_.connected(transmit.connection)) return;
    note_user(*entry, transmit.connection);
    entry->carrier->send(batch, transmit.segment);
    entry->carrier->flush();
    if (entry->carrier->full()) {
        entry->full = true;
        endpoint_.on_carrier_full(transmit.connection, transmit.local, transmit.remote, true);
    }
}

/// A peer may use one stream for any number of connections.
void Carriers::note_user(Entry& entry, ConnectionId connection) {
    auto& users = entry.users;
    if (std::ranges::find(users, connection) != users.end()) return;
    if (users.size() >= kManyUsers) std::erase_if(users, [this](ConnectionId id) { return !endpoint_.connected(id); });
    users.push_back(connection);
}

std::span<os::Watch> Carriers::watches() {
    watches_.clear();
    for (const auto& entry : entries_) {
        const std::size_t before = watches_.size();
        entry->carrier->watch(watches_);
        entry->watches = watches_.size() - before;
    }
    if (!accept_again_) {
        for (const Port& port : ports_) watches_.push_back({.fd = port.socket.get(), .readable = true});
    }
    return watches_;
}

/// New entries are not in watches_ yet.
void Carriers::note_ready() {
    std::size_t at = 0;
    for (const auto& entry : entries_) {
        const auto own = std::span(watches_).subspan(at, entry->watches);
        at += entry->watches;
        if (std::ranges::any_of(own, &os::Watch::ready)) entry->ready = true;
    }
    for (os::Watch& watch : watches_) watch.ready = false;
}

bool Carriers::turn(Instant now) {
    if (empty()) return false;
    note_ready();
    bool more = false;
    for (const auto& entry : entries_) {
        if (!entry->ready) continue;
        entry->ready = receive(now, *entry);
        more = more || entry->ready;
    }
    if (!accept_again_ || now >= *accept_again_) {
        accept_again_.reset();
        for (Port& port : ports_) accept_all(now, port);
    }
    pass_on_strange();
    end_half_open(now);
    remove_ended(now);
    return more;
}

bool Carriers::receive(Instant now, Entry& entry) {
    StreamCarrier& carrier = *entry.carrier;
    proto::RxDatagram received;
    received.local = carrier.local();
    received.remote = carrier.remote();
    const bool more = carrier.receive([&](std::span<std::byte> datagram) {
        if (entry.since && shares_ > 1) entry.share = thread_of(datagram, shares_);
        if (entry.share != share_) return false;
        received.data = datagram;
        endpoint_.handle_datagram(now, received);
        return true;
    });
    carrier.flush();
    if (entry.full && carrier.queued() <= StreamCarrier::kFull / 2) tell_room(entry);
    return more;
}

void Carriers::tell_room(Entry& entry) {
    entry.full = false;
    for (const ConnectionId id : entry.users) {
        endpoint_.on_carrier_full(id, entry.carrier->local(), entry.carrier->remote(), false);
    }
}

bool Carriers::make_room(Instant now, const Address& remote) {
    const auto same_host = [&](const auto& entry) {
        return std::ranges::equal(host_part(entry->carrier->remote()), host_part(remote));
    };
    std::size_t all = 0;
    std::size_t of_host = 0;
    for (const auto& entry : entries_) {
        if (!entry->since) continue;
        ++all;
        if (same_host(entry)) ++of_host;
    }
    const bool host_full = of_host >= kMaxHalfOpenPerHost;
    if (!host_full && all < kMaxHalfOpen) return true;
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (!(*it)->since || (host_full && !same_host(*it))) continue;
        if (oldest == entries_.end() || *(*it)->since < *(*oldest)->since) oldest = it;
    }
    if (now - *(*oldest)->since < kHalfOpenGrace) return false;
    entries_.erase(oldest);
    return true;
}

void Carriers::accept_all(Instant now, Port& port) {
    for (int i = 0; i < kAcceptsInTurn; ++i) {
        UniqueFd socket(
            again([&] { return ::accept4(port.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
        if (!socket) {
            // A connection may end before it is accepted. Without descriptors the port stays
            // readable.
            const bool lack = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            if (lack) accept_again_ = now + kAcceptAgain;
            return;
        }
        const Address local = tcp_address(socket.get(), TcpEnd::here);
        const Address remote = tcp_address(socket.get(), TcpEnd::there);
        if (remote.family == Address::Family::none || !make_room(now, remote)) continue;
        set_tcp_options(socket.get());
        auto stream = port.tls->over(std::move(socket));
        if (!stream) continue;
        add(std::make_shared<StreamCarrier>(std::move(*stream), local, remote), now);
    }
}

void Carriers::end_half_open(Instant now) {
    for (const auto& entry : entries_) {
        if (!entry->accepted) continue;
        const auto connected = [this](ConnectionId id) { return endpoint_.connected(id); };
        if (std::ranges::any_of(entry->users, connected)) {
            entry->since.reset();
        } else if (!entry->since) {
            entry->since = now;
        }
    }
    std::erase_if(entries_, [&](const auto& entry) { return entry->since && now - *entry->since >= kHalfOpenTime; });
}

/// The first datagram of a stream names the share of its connection.
void Carriers::pass_on_strange() {
    std::erase_if(entries_, [this](const auto& entry) {
        if (entry->share == share_) return false;
        if (pass_on_) pass_on_(entry->share, entry->carrier, *entry->since);
        return true;
    });
}

void Carriers::remove_ended(Instant now) {
    for (std::size_t i = 0; i < entries_.size();) {
        const auto& over = entries_[i]->carrier->over();
        if (!over) {
            ++i;
            continue;
        }
        const auto entry = std::move(entries_[i]);
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
        const Address& remote = entry->carrier->remote();
        for (const ConnectionId id : entry->users) {
            endpoint_.on_carrier_gone(now, id, entry->carrier->local(), remote, describe_end(remote, *over));
        }
        if (gone_) gone_(*entry->carrier);
    }
}

std::optional<Instant> Carriers::deadline() const {
    std::optional<Instant> next = accept_again_;
    for (const auto& entry : entries_) {
        if (!entry->since) continue;
        const Instant end = *entry->since + kHalfOpenTime;
        next = next ? std::min(*next, end) : end;
    }
    return next;
}

}  // namespace udtx::io
