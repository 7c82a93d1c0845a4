// One UDP port's worth of connections: routes datagrams by connection id, answers first flights with a stateless
// cookie, makes connections. The same class dials and listens. Without I/O: datagrams and time go in; datagrams, a
// deadline and events come out.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "udtx/config.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/core/rng.hpp"
#include "udtx/export.hpp"

namespace udtx::proto {

struct Experiment;

/// What an endpoint and its connections are given; all of it outlives them.
struct EndpointDeps {
    crypto::Provider* provider = nullptr;
    crypto::HandshakeFactory* handshakes = nullptr;
    Rng* rng = nullptr;
    /// AEAD speed on this machine, bytes/s by cipher; the handshake picks the one whose slower end is fastest.
    double aes_gcm_speed = 1.0;
    double chacha20_speed = 1.0;
    /// Derived from a key that both ends share: a client that shows it is spared the cookie's round trip. nullopt: a
    /// cookie always.
    std::optional<crypto::Secret> hello_key{};
    /// Derived from a key that outlives the process: by it a server that was started anew shows its old clients that
    /// their connections are gone. nullopt: it keeps silent.
    std::optional<crypto::Secret> reset_key{};
    /// Lanes that take part in the cipher work (udtx/core/lane_work.hpp). Not 0: established connections hand out
    /// batches that are still to be sealed (Transmit::key).
    std::size_t lanes = 0;
    /// For the library's own tests and experiments; null: none.
    const Experiment* experiment = nullptr;
};

/// Order of calls, for the driver:
///   1. After any call below or of a connection poll until dry: poll_touched(), and poll_event() of each connection
///      that it gives; accept(); then poll_transmit() until nullopt; then set the timer to poll_timeout().
///   2. When a datagram came: handle_datagram(); when the timer fires: handle_timeout(now); then as 1.
/// `now` never goes backwards. All on one thread, but for the lanes' work. Connections are let go inside
/// poll_transmit(), once they are drained().
class UDTX_EXPORT Endpoint {
    class Impl;

  public:
    /// `config`: one that check() finds good (udtx/core/config_check.hpp).
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
    /// Over the first of these that something comes back by, which becomes the first path. At least one.
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, std::vector<PathAddresses> ways);
    /// A connection whose handshake a client has finished, each once; ask after poll_touched() ran dry.
    [[nodiscard]] std::shared_ptr<Connection> accept();

    void handle_datagram(Instant now, const RxDatagram& datagram);
    /// How a lane may open this packet, and those that follow and look like it, before handle_datagram(); nullopt:
    /// leave them as they are.
    [[nodiscard]] std::optional<Opening> opening_of(std::span<const std::byte> datagram) const;
    void handle_timeout(Instant now);
    /// Writes up to `max_segments` datagrams of one size back to back into `out`, which holds at least one of
    /// TransportConfig::max_datagram.
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    /// The socket refused this batch because of the size of its datagrams (EMSGSIZE).
    void on_datagram_too_large(Instant now, const Transmit& refused);
    /// The system has no way for this batch, as it says in `why`. Before a peer was heard it is final, once it holds
    /// for all the ways that there are; later it may pass. With `may_pass` it holds once it is said again, a moment
    /// later.
    void on_no_way(Instant now, const Transmit& refused, std::string why, bool may_pass);
    /// A connection that was touched since the last call and may have events; null when there is none.
    [[nodiscard]] std::shared_ptr<Connection> poll_touched();
    [[nodiscard]] std::size_t connection_count() const noexcept;
    /// Of those, accepted ones whose handshake is not finished.
    [[nodiscard]] std::size_t half_open_count() const noexcept;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::proto
