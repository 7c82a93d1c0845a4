// All connections of one UDP port, without I/O: the driver brings datagrams and the time, and gets datagrams, a
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
#include "udtx/core/rng.hpp"
#include "udtx/export.hpp"

/// The protocol without I/O.
namespace udtx::proto {

struct Experiment;
class WindowMemory;

/// What an endpoint needs. Objects that are pointed to have to outlive the endpoint and its connections.
struct EndpointDeps {
    crypto::Provider* provider = nullptr;            ///< of ciphers
    crypto::HandshakeFactory* handshakes = nullptr;  ///< of TLS
    Rng* rng = nullptr;                              ///< random bytes
    /// Speeds of this host. The handshake picks the cipher whose slower end is faster.
    double aes_gcm_speed = 1.0;   ///< bytes/s of AES-256-GCM
    double chacha20_speed = 1.0;  ///< bytes/s of ChaCha20-Poly1305
    /// Derived from a pre-shared key. With it a client proves in its first packet that it has that key, and saves the
    /// round trip of the cookie. nullopt: there is always a cookie.
    std::optional<crypto::Secret> hello_key{};
    /// Derived from a key that outlives the process. With it a server that was restarted tells its old clients that
    /// their connections are gone. nullopt: it does not.
    std::optional<crypto::Secret> reset_key{};
    /// Lanes that share the cipher work (udtx/core/lane_work.hpp). With any, batches may leave unsealed
    /// (Transmit::key).
    std::size_t lanes = 0;
    /// Where several endpoints share a port: connection ids are `share` modulo `shares`, which tells datagrams apart.
    std::uint32_t share = 0;
    std::uint32_t shares = 1;                       ///< at least 1
    std::shared_ptr<WindowMemory> window_memory{};  ///< that they share, too; null: one of TransportConfig::max_memory
    const Experiment* experiment = nullptr;         ///< for the library's own tests
};

/// Dials and listens on one UDP port: routes datagrams by connection id, answers unknown clients with a stateless
/// cookie, and makes connections. The driver calls it so:
///   1. When a datagram comes: handle_datagram(). When the timer fires: handle_timeout().
///   2. After that, and after any other call of the endpoint or of a connection: poll_touched(), and poll_event() of
///      each connection that it gives, until there is none; accept() until null; poll_transmit() until nullopt. Then
///      set the timer to poll_timeout().
///
/// `now` never goes back. All calls come on one thread. poll_transmit() lets connections go that are drained().
class UDTX_EXPORT Endpoint {
    class Impl;

  public:
    /// `config` has passed check() (udtx/core/config_check.hpp).
    Endpoint(EndpointDeps deps, TransportConfig config);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    static constexpr std::size_t kMaxHalfOpen = 1024;       ///< handshakes under way at once
    static constexpr std::size_t kMaxHalfOpenPerHost = 64;  ///< of them, from one host
    /// Age after which a handshake makes room for a new one, so that a flood does not shut out others.
    static constexpr Duration kHalfOpenGrace = std::chrono::seconds(1);

    /// Accepts connections from now on, at most `max_connections` at once. Further clients are refused when their
    /// handshake has finished.
    void listen(std::size_t max_connections);
    /// Dials `remote`.
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, const Address& remote) {
        return connect(now, std::vector{PathAddresses{.local = {}, .remote = remote, .options = {}}});
    }
    /// Dials `ways` in turn, of which there is at least one. The first by which something comes back becomes the first
    /// path.
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, std::vector<PathAddresses> ways);
    /// A new connection of a client, each once; null: there is none. Ask after poll_touched() has given null.
    [[nodiscard]] std::shared_ptr<Connection> accept();

    /// A datagram has come.
    void handle_datagram(Instant now, const RxDatagram& datagram);
    /// What a lane needs to open this packet, and others of the same connection, path and key phase, before
    /// handle_datagram(). nullopt: lanes cannot open it.
    [[nodiscard]] std::optional<Opening> opening_of(std::span<const std::byte> datagram) const;
    /// The time of poll_timeout() has come.
    void handle_timeout(Instant now);
    /// Writes the next batch into `out`: up to `max_segments` datagrams of one size, back to back. `out` holds at least
    /// TransportConfig::max_datagram bytes. nullopt: nothing may leave now.
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    /// When to call handle_timeout(); nullopt: never.
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    /// The socket has refused a batch since its datagrams are too large (EMSGSIZE).
    void on_datagram_too_large(Instant now, const Transmit& refused);
    /// The system has no route for a batch, and says `why`. Before the peer has been heard, that ends the connection
    /// when it holds for all its ways; later it may pass. With `may_pass` it counts only when it is told a second time.
    void on_no_way(Instant now, const Transmit& refused, std::string why, bool may_pass);
    /// A connection that may have events; null: there is none.
    [[nodiscard]] std::shared_ptr<Connection> poll_touched();
    /// Connections, in whatever state.
    [[nodiscard]] std::size_t connection_count() const noexcept;
    /// Connections of clients whose handshake has not finished.
    [[nodiscard]] std::size_t half_open_count() const noexcept;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::proto
