// One UDP port's worth of connections: routes datagrams by connection id, answers first flights with a stateless
// cookie, makes connections. The same class dials and listens.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "crypto/hello_proof.hpp"
#include "crypto/provider.hpp"
#include "crypto/retry_cookie.hpp"
#include "proto/connection.hpp"
#include "proto/reset_replies.hpp"
#include "proto/types.hpp"
#include "udtx/config.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

/// Order of calls: as for Connection. Connections live until drained() and are reaped inside poll_transmit().
class Endpoint {
  public:
    Endpoint(EndpointDeps deps, TransportConfig config);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    /// Handshakes that may be under way at once, in all and from one host. The cookie has shown that their addresses
    /// are real, no more: the oldest makes room for a new one once it had time for a round trip, so that a flood does
    /// not shut out those who mean it.
    static constexpr std::size_t kMaxHalfOpen = 1024;
    static constexpr std::size_t kMaxHalfOpenPerHost = 64;
    static constexpr Duration kHalfOpenGrace = std::chrono::seconds(1);

    /// Accepts connections from now on, at most `max_connections` established ones at once; who finishes a handshake
    /// too many is told so.
    void listen(std::size_t max_connections);
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, const Address& remote) {
        return connect(now, std::vector{PathAddresses{.local = {}, .remote = remote, .options = {}}});
    }
    /// Over the first of these that something comes back by, which becomes the first path.
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, std::vector<PathAddresses> ways);
    /// A connection whose handshake a client has finished, each once; ask after poll_touched() ran dry.
    [[nodiscard]] std::shared_ptr<Connection> accept();

    void handle_datagram(Instant now, const RxDatagram& datagram);
    /// See Connection::opening_of().
    [[nodiscard]] std::optional<Opening> opening_of(std::span<const std::byte> datagram) const;
    void handle_timeout(Instant now);
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    /// The socket refused this batch because of the size of its datagrams.
    void on_datagram_too_large(Instant now, const Transmit& refused);
    /// The system has no way for this batch, as it says in `why`; it may have one for the next with `may_pass`.
    void on_no_way(Instant now, const Transmit& refused, std::string why, bool may_pass);
    /// A connection that was touched since the last call and may have events; null when there is none.
    [[nodiscard]] std::shared_ptr<Connection> poll_touched();
    [[nodiscard]] std::size_t connection_count() const noexcept { return connections_.size(); }
    /// Of those, accepted ones whose handshake is not finished.
    [[nodiscard]] std::size_t half_open_count() const noexcept { return half_open_.size(); }

  private:
    struct Entry {
        std::shared_ptr<Connection> connection{};
        std::optional<Instant> deadline{};  // as filed in timers_
        bool told = false;                  // in events_
        bool queued = false;                // in ready_
    };
    struct Reply {
        Address local;
        Address remote;
        std::vector<std::byte> bytes;
    };

    std::shared_ptr<Connection> add(Instant now, Connection::Setup setup);
    void on_touched(ConnectionId id, Entry& entry);
    void file_deadline(ConnectionId id, Entry& entry);
    void remove(ConnectionId id);
    [[nodiscard]] const Entry* find(ConnectionId id);
    void after_datagram(Instant now, const std::shared_ptr<Connection>& connection, bool was_connected);
    /// Something threw, for want of memory as a rule: this connection ends, and the others go on.
    [[nodiscard]] bool make_room(Instant now, const Address& remote);
    void on_hello(Instant now, const RxDatagram& datagram);
    void reply_retry(Instant now, const RxDatagram& datagram, const wire::LongHeader& header);
    void reply_versions(const RxDatagram& datagram, const wire::LongHeader& header);
    void on_stray(Instant now, const RxDatagram& datagram, const wire::ShortHeader& header);
    [[nodiscard]] ConnectionId fresh_id();

    static constexpr std::size_t kMaxReplies = 64;
    static constexpr std::size_t kMaxResets = 16;  // of those: who wants to begin a handshake comes first

    EndpointDeps deps_;
    TransportConfig config_;
    crypto::CookieJar cookies_;
    std::optional<crypto::HelloProofs> proofs_;
    std::optional<ResetReplies> resets_;
    std::size_t max_connections_ = 0;
    std::unordered_map<ConnectionId, Entry> connections_;           // by our id
    const std::pair<const ConnectionId, Entry>* newest_ = nullptr;  // of those: to which the last datagram went
    std::unordered_map<ConnectionId, ConnectionId> by_original_;    // server: client's first destination -> our id
    std::vector<ConnectionId> dialled_;                             // those that we began
    std::deque<ConnectionId> half_open_;                            // oldest first
    std::deque<ConnectionId> ready_;                                // to be polled for datagrams, round robin
    std::deque<ConnectionId> events_;                               // to be polled for events
    std::set<std::pair<Instant, ConnectionId>> timers_;
    std::deque<std::shared_ptr<Connection>> accepted_;
    std::deque<Reply> replies_;  // stateless answers, bounded
};

}  // namespace udtx::proto
