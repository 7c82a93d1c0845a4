// Runs an Endpoint over a real socket: one thread, one loop, one timer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/udp_socket.hpp"
#include "proto/application.hpp"
#include "udtx/config.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// Order of calls: open(), then connect() and listen() as needed, then run() on the future protocol thread. Other
/// threads may call only post(), stop(), stop_when_drained(), take(), heard() and Wakers, before, during and after
/// run(). All other calls and all handlers run on the protocol thread, or before run().
class Driver {
  public:
    struct Options {
        SocketOptions socket;
        /// Number of threads that handle packets, including the protocol thread (io/lanes.hpp); 1 to kMaxThreads.
        std::size_t threads = 1;
        /// The share of this driver and the number of shares, if several drivers listen on one port. Each share owns a
        /// part of the connection ids (io/shared_port.hpp).
        std::size_t share = 0;
        std::size_t shares = 1;
        std::shared_ptr<proto::WindowMemory> window_memory{};  ///< common to all shares
    };
    /// Takes a datagram that arrived here but belongs to another share.
    using PassOn = std::function<void(std::size_t share, const proto::RxDatagram& datagram)>;
    /// Passes ICMP messages that arrived here to all other shares: the kernel cannot assign them to a connection.
    using PassRefusals = std::function<void(const std::vector<Refusal>& refusals)>;
    /// Chooses the handler of a connection that a peer opened; nullptr closes the connection. May call waker_for().
    using AcceptCallback = std::function<std::shared_ptr<proto::ConnectionHandler>(proto::Connection&)>;

    Driver(proto::EndpointDeps deps, TransportConfig config, Options options);
    Driver(proto::EndpointDeps deps, TransportConfig config) : Driver(deps, std::move(config), Options()) {}
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Call it before connect().
    Result<void> open(const Address& bind);
    /// The same with a socket that the caller has bound.
    Result<void> open(std::unique_ptr<DatagramSocket> socket);
    Result<void> open(UniqueFd socket);
    [[nodiscard]] Result<Address> local_address() const;
    /// See DatagramSocket::native_handle().
    [[nodiscard]] int native_handle() const noexcept;
    /// Call it before run(). Without it the driver drops datagrams of other shares.
    void on_elsewhere(PassOn pass_on, PassRefusals pass_refusals);
    /// Takes a datagram that another share received; any thread. Drops it if too many are queued.
    void take(const proto::RxDatagram& datagram);
    /// Takes ICMP messages that another share received; any thread.
    void take(const std::vector<Refusal>& refusals);
    /// True once any datagram has arrived; any thread.
    [[nodiscard]] bool heard() const noexcept;
    /// See DatagramSocket::buffer_advice().
    [[nodiscard]] std::string buffer_advice() const;

    /// The driver keeps the handler until after its Closed event. The handler receives its placed pieces itself
    /// (PlacedSink).
    std::shared_ptr<proto::Connection> connect(const Address& remote,
                                               std::shared_ptr<proto::ConnectionHandler> handler) {
        return connect(std::vector{proto::PathAddresses{.local = {}, .remote = remote, .options = {}}},
                       std::move(handler));
    }
    /// See Endpoint::connect().
    std::shared_ptr<proto::Connection> connect(std::vector<proto::PathAddresses> ways,
                                               std::shared_ptr<proto::ConnectionHandler> handler);
    void listen(std::size_t max_connections, AcceptCallback accept);
    /// See Endpoint::set_keys(); takes the keys of `deps`.
    void set_keys(const proto::EndpointDeps& deps);
    /// Reports handshakes that a peer started and that failed at this end. No handler hears of those.
    using RefusedCallback = std::function<void(const Address& remote, const proto::CloseReason& why)>;
    void on_refused(RefusedCallback refused);
    /// Reports that the system has refused to receive for a second, and with `over` that it did so for kReceivesNothing
    /// and all connections end for it.
    using TroubleCallback = std::function<void(const Error& why, bool over)>;
    void on_trouble(TroubleCallback trouble);
    /// Shorter than TransportConfig::handshake_timeout, whose end would be blamed on the path.
    static constexpr Duration kReceivesNothing = std::chrono::seconds(5);

    /// Runs until stop(). It may be called again afterwards.
    void run();
    /// Sends everything that may leave now, then makes run() return. After a stop() before run(), run() returns at
    /// once.
    void stop();
    /// Stops once every connection has drained: the close has reached the peer or was repeated long enough. Stops after
    /// `at_most` in any case.
    void stop_when_drained(Duration at_most);

    /// The Waker triggers on_wake() of this connection's handler. Any thread may call it, also after the end of the
    /// connection or of the driver. Call waker_for() on the protocol thread. If the connection has no handler, the
    /// Waker does nothing.
    [[nodiscard]] proto::Waker waker_for(const proto::Connection& connection);
    /// Runs `fn` on the protocol thread. If the driver is destroyed first, `fn` is dropped.
    void post(std::function<void()> fn);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::io
