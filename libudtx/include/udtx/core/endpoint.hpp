// All connections of one UDP port, without I/O. The driver passes in datagrams and the time. It gets datagrams, a
// deadline and events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "udtx/config.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/export.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

/// The protocol without I/O.
namespace udtx::proto {

class WindowMemory;

/// Objects and settings that an endpoint needs. Pointers must stay valid until the endpoint and its connections are
/// destroyed.
struct EndpointDeps {
    crypto::Provider* provider = nullptr;            ///< makes AEADs and derives keys
    crypto::HandshakeFactory* handshakes = nullptr;  ///< makes TLS handshakes
    Rng* rng = nullptr;                              ///< random source
    /// Cipher speeds of this host. The handshake chooses the cipher with the faster slower end.
    double aes_gcm_speed = 1.0;   ///< bytes/s of AES-256-GCM
    double chacha20_speed = 1.0;  ///< bytes/s of ChaCha20-Poly1305
    /// Secret derived from a pre-shared key. With it the client's first packet proves that the client has the key,
    /// which saves the round trip of the cookie. nullopt: the server always requires a cookie.
    std::optional<crypto::Secret> hello_key{};
    /// Secret derived from a key that outlives the process. With it a restarted server tells its earlier clients that
    /// their connections are gone. nullopt: it does not tell them.
    std::optional<crypto::Secret> reset_key{};
    /// Number of packet threads that share the cipher work (udtx/core/datagram.hpp). If it is not 0, batches may leave
    /// unencrypted from poll_transmit() (Transmit::key).
    std::size_t packet_threads = 0;
    /// For several endpoints on one port: this endpoint uses connection ids equal to `share` modulo `shares`, so that
    /// datagrams can be assigned.
    std::uint32_t share = 0;
    std::uint32_t shares = 1;                ///< at least 1
    std::vector<std::uint16_t> tcp_ports{};  ///< see Endpoint::announce_tcp()
    /// Memory that these endpoints share too; null: own memory of TransportConfig::max_memory.
    std::shared_ptr<WindowMemory> window_memory{};
};

/// Connects and listens on one UDP port. It routes datagrams by connection id, answers unknown clients with a stateless
/// cookie, and makes connections. The driver calls it in this order:
///   1. When a datagram arrives: handle_datagram(). When the timer fires: handle_timeout().
///   2. After that, and after any other call of the endpoint or of a connection: poll_touched() until null, and
///      poll_event() of each returned connection until nullopt. Then accept() until null, and poll_transmit() until
///      nullopt. Then set the timer to poll_timeout().
///
/// `now` must never decrease. One thread makes all calls. poll_transmit() releases connections that are drained().
class UDTX_EXPORT Endpoint {
    class Impl;

  public:
    /// Makes an endpoint. `config` must have passed check() (udtx/core/endpoint.hpp).
    Endpoint(EndpointDeps deps, TransportConfig config);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    static constexpr std::size_t kMaxHalfOpen = 1024;       ///< limit of unfinished handshakes
    static constexpr std::size_t kMaxHalfOpenPerHost = 64;  ///< limit of unfinished handshakes from one host
    /// A handshake of this age may be dropped for a new one, so that a flood does not lock out other clients.
    static constexpr Duration kHalfOpenGrace = std::chrono::seconds(1);

    /// Replaces the keys for handshakes that start from now on. Connections that exist stay open. With another
    /// `hello_key` a client whose handshake started with the earlier one is refused when the handshake ends.
    /// `handshakes` must stay valid as EndpointDeps::handshakes.
    void set_keys(crypto::HandshakeFactory& handshakes, const std::optional<crypto::Secret>& hello_key,
                  const std::optional<crypto::Secret>& reset_key);
    /// Tells each client that connects from now on the TCP ports at which this end can be reached, too.
    void announce_tcp(std::vector<std::uint16_t> ports);
    /// Starts to accept connections, at most `max_connections` at once. Further clients are refused after their
    /// handshake.
    void listen(std::size_t max_connections);
    /// Connects to `remote`.
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, const Address& remote) {
        return connect(now, std::vector{PathAddresses{.local = {}, .remote = remote, .options = {}}});
    }
    /// Connects over `candidates`, trying them one after another. `candidates` must not be empty. The first one that
    /// brings a reply becomes the first path.
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, std::vector<PathAddresses> candidates);
    /// Returns each new connection of a client once; null: none. Call it after poll_touched() has returned null.
    [[nodiscard]] std::shared_ptr<Connection> accept();

    /// Processes a received datagram.
    void handle_datagram(Instant now, const RxDatagram& datagram);
    /// Returns the data with which a packet thread can decrypt this packet before handle_datagram(). The data also fits
    /// other packets of the same connection, path and key phase. nullopt: a packet thread cannot decrypt the packet.
    [[nodiscard]] std::optional<Opening> opening_of(std::span<const std::byte> datagram) const;
    /// Call it when the time of poll_timeout() is reached.
    void handle_timeout(Instant now);
    /// Writes the next batch into `out`: up to `max_segments` consecutive datagrams of one size. `out` must hold at
    /// least TransportConfig::max_datagram bytes. nullopt: nothing may be sent now.
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    /// Returns when to call handle_timeout(); nullopt: never.
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    /// Reports that the socket refused a batch because its datagrams are too large (EMSGSIZE).
    void on_datagram_too_large(Instant now, const Transmit& refused);
    /// Reports that the system has no route for a batch; `why` is the cause. Before the peer's first packet the
    /// connection ends with `no_route` once all its addresses have failed in this way. Later the report has no such
    /// effect, as the fault may pass. With `may_pass` an address fails only after a second report, at least 100 ms
    /// after the first.
    void on_no_route(Instant now, const Transmit& refused, std::string why, bool may_pass);
    /// Reports that the byte stream between these addresses takes nothing more at present (`full`), or takes more
    /// again.
    void on_carrier_full(ConnectionId connection, const Address& local, const Address& remote, bool full);
    /// Reports that the byte stream between these addresses has ended; `why` is the cause. If no other path of the
    /// connection works, the connection ends.
    void on_carrier_gone(Instant now, ConnectionId connection, const Address& local, const Address& remote,
                         const std::string& why);
    /// True if this connection exists and its handshake has finished.
    [[nodiscard]] bool connected(ConnectionId connection) const;
    /// Returns a connection that may have events; null: none.
    [[nodiscard]] std::shared_ptr<Connection> poll_touched();
    /// Number of connections in any state.
    [[nodiscard]] std::size_t connection_count() const noexcept;
    /// Number of clients' connections whose handshake has not finished.
    [[nodiscard]] std::size_t half_open_count() const noexcept;

  private:
    friend struct Experiment;
    std::unique_ptr<Impl> impl_;
};

// Checks a TransportConfig, and rates that are set later.

/// Checks all members, and calls each factory once. invalid_argument: a member is invalid; the message has its name and
/// the allowed values.
[[nodiscard]] UDTX_EXPORT Result<void> check(const TransportConfig& config);
/// True if `rate` may be a cap: it is above zero. This holds for TransportConfig::max_rate,
/// TransportConfig::max_receive_rate and caps that are set later.
[[nodiscard]] constexpr bool may_cap(Rate rate) noexcept { return rate > Rate(); }
/// Checks may_cap(rate). invalid_argument: the rate cannot be a cap; the message contains `name`.
[[nodiscard]] UDTX_EXPORT Result<void> check_cap(Rate rate, const std::string& name);

}  // namespace udtx::proto
