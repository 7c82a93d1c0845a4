// Runs an Endpoint over a real socket: one thread, one Boost.Asio loop, one timer.
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

/// Order of calls: open(), then connect() and listen() as wanted, then run() on the thread that is to be the protocol
/// thread. Only post(), stop(), stop_when_drained() and Wakers may be called from other threads, before, during and
/// after run(). Everything else, and all handlers, on the protocol thread (or before run()).
class Driver {
  public:
    struct Options {
        SocketOptions socket;
        /// Threads that packets pass through, the protocol thread among them (io/lanes.hpp); 1 to kMaxThreads.
        std::size_t threads = 1;
        /// Others that listen at the same port, each with a share of the connection ids (io/shared_port.hpp).
        std::size_t share = 0;
        std::size_t shares = 1;
        std::shared_ptr<proto::WindowMemory> window_memory{};  ///< of all of them
    };
    /// Takes a datagram that came here and is for another share.
    using PassOn = std::function<void(std::size_t share, const proto::RxDatagram& datagram)>;
    /// Takes what ICMP has said here, for all other shares: the kernel knows no connection of it.
    using PassRefusals = std::function<void(const std::vector<Refusal>& refusals)>;
    /// Chooses the handler of a connection that a peer opened; nullptr closes the connection. May call waker_for().
    using AcceptCallback = std::function<std::shared_ptr<proto::ConnectionHandler>(proto::Connection&)>;

    Driver(proto::EndpointDeps deps, TransportConfig config, Options options);
    Driver(proto::EndpointDeps deps, TransportConfig config) : Driver(deps, std::move(config), Options()) {}
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Without it nothing may be dialled.
    Result<void> open(const Address& bind);
    /// The same with a socket that somebody has bound.
    Result<void> open(std::unique_ptr<DatagramSocket> socket);
    Result<void> open(UniqueFd socket);
    [[nodiscard]] Result<Address> local_address() const;
    /// See DatagramSocket::native_handle().
    [[nodiscard]] int native_handle() const noexcept;
    /// Before run(). Without it what is for another share is dropped.
    void on_elsewhere(PassOn pass_on, PassRefusals pass_refusals);
    /// A datagram that came to another share; any thread. Dropped where too many wait.
    void take(const proto::RxDatagram& datagram);
    /// What another share has heard; any thread.
    void take(const std::vector<Refusal>& refusals);
    /// Any datagram has come; any thread.
    [[nodiscard]] bool heard() const noexcept;
    /// See DatagramSocket::buffer_advice().
    [[nodiscard]] std::string buffer_advice() const;

    /// The handler is kept until after it was told Closed. Its placed pieces go to itself (PlacedSink).
    std::shared_ptr<proto::Connection> connect(const Address& remote,
                                               std::shared_ptr<proto::ConnectionHandler> handler) {
        return connect(std::vector{proto::PathAddresses{.local = {}, .remote = remote, .options = {}}},
                       std::move(handler));
    }
    /// See Endpoint::connect().
    std::shared_ptr<proto::Connection> connect(std::vector<proto::PathAddresses> ways,
                                               std::shared_ptr<proto::ConnectionHandler> handler);
    void listen(std::size_t max_connections, AcceptCallback accept);
    /// Tells of handshakes that peers began and that failed at this end: no handler hears of those.
    using RefusedCallback = std::function<void(const Address& remote, const proto::CloseReason& why)>;
    void on_refused(RefusedCallback refused);

    /// Until stop(). May be called again afterwards.
    void run();
    /// Sends what may leave at once, then lets run() return. A stop() before run() makes it return at once.
    void stop();
    /// The same as soon as every connection has drained (the close has reached the peer, or was repeated long enough),
    /// at the latest after `at_most`.
    void stop_when_drained(Duration at_most);

    /// Leads to on_wake() of this connection's handler; for any thread, harmless after the connection's or the
    /// driver's end. To be asked for on the protocol thread; does nothing for a connection that has no handler.
    [[nodiscard]] proto::Waker waker_for(const proto::Connection& connection);
    /// Runs `fn` on the protocol thread. Dropped when the driver is destroyed before.
    void post(std::function<void()> fn);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::io
