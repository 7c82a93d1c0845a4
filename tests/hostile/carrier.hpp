// What carries the datagrams of the peers that lie: UDP, or what HOSTILE_CARRIER names. "tcp": TLS over TCP at the same
// port. "ssh": the connection of ssh, behind the bootstrap. "relay": the stream of the relay at port $HOSTILE_RELAY.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "far_end.hpp"
#include "io/addresses.hpp"
#include "io/carriers.hpp"
#include "io/driver.hpp"
#include "io/listening.hpp"
#include "io/protocol_thread.hpp"
#include "io/socket_setup.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"

namespace udtx::hostile {

[[nodiscard]] inline bool over_tcp() { return over("tcp"); }

/// Handshakes at the same time: a server allows 64 per host. Several programs of a test share them.
[[nodiscard]] inline std::size_t at_once() { return over_tcp() ? io::Carriers::kMaxHalfOpenPerHost / 4 : 48; }

/// Ends the stream of a connection over TCP together with the connection, as a process that ends does.
class Carried final : public proto::ConnectionHandler {
  public:
    Carried(std::shared_ptr<proto::ConnectionHandler> handler, UniqueFd stream)
        : handler_(std::move(handler)), stream_(std::move(stream)) {}
    ~Carried() override { ::shutdown(stream_.get(), SHUT_RDWR); }
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        handler_->on_event(now, connection, event);
    }
    void on_wake(Instant now, proto::Connection& connection) override { handler_->on_wake(now, connection); }
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        handler_->on_piece(id, offset, bytes);
    }
    void on_turn_end() override { handler_->on_turn_end(); }

  private:
    const std::shared_ptr<proto::ConnectionHandler> handler_;
    const UniqueFd stream_;
};

/// How a client reaches the server, before it connects.
struct Way {
    proto::PathAddresses path;
    std::shared_ptr<io::StreamCarrier> carrier{};  ///< null: UDP
    UniqueFd stream{};                             ///< the same, to end it with the connection
    pid_t far_end = 0;                             ///< the server, if it is the client's own
};

inline Way way_over_ssh() {
    FarEnd far_end = start_over_ssh();
    // Each connection has a place of its own.
    static std::atomic<std::uint16_t> connections = 0;
    Address end;
    end.carrier = Carrier::ssh;
    end.port = ++connections;
    const auto again = [&] { return UniqueFd(::fcntl(far_end.stream.get(), F_DUPFD_CLOEXEC, 0)); };
    return {.path = {.local = end, .remote = end, .options = {}},
            .carrier = std::make_shared<io::StreamCarrier>(os::stream_of(again(), again()), end, end),
            .stream = std::move(far_end.stream),
            .far_end = far_end.pid};
}

/// The one connection of this process.
inline Way way_over_relay() {
    const auto& carrier = ChannelAccess::carrier(*meeting().end->channel());
    return {.path = {.local = carrier->local(), .remote = carrier->remote(), .options = {}},
            .carrier = carrier,
            .far_end = meeting().far_end.pid};
}

inline Way way_over_tcp(const Address& server) {
    static const auto tls = test::need(openssl::TlsStreams::make(Role::client));
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const io::SocketAddress to = io::to_socket_address(server, AF_INET);
    if (::connect(socket.get(), to.get(), to.length) != 0) test::die(std::string("TCP: ") + std::strerror(errno));
    io::set_tcp_options(socket.get());
    const Address local = io::tcp_address(socket.get(), io::TcpEnd::here);
    const Address remote = io::tcp_address(socket.get(), io::TcpEnd::there);
    UniqueFd same(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    return {.path = {.local = local, .remote = remote, .options = {}},
            .carrier = std::make_shared<io::StreamCarrier>(test::need(tls->over(std::move(socket))), local, remote),
            .stream = std::move(same)};
}

/// Blocks until there is a byte stream.
inline Way way_to(const Address& server) {
    if (over("ssh")) return way_over_ssh();
    if (over("relay")) return way_over_relay();
    if (over_tcp()) return way_over_tcp(server);
    return {.path = {.local = {}, .remote = server, .options = {}}};
}

/// As Driver::connect(), on the protocol thread or before it runs. A connection over a byte stream has one of its own.
inline std::shared_ptr<proto::Connection> connect(io::Driver& driver, Way& way,
                                                  std::shared_ptr<proto::ConnectionHandler> handler) {
    if (!way.carrier) return driver.connect(way.path.remote, std::move(handler));
    driver.carriers().add(way.carrier);
    return driver.connect({way.path}, std::make_shared<Carried>(std::move(handler), std::move(way.stream)));
}
inline std::shared_ptr<proto::Connection> connect(io::Driver& driver, const Address& server,
                                                  std::shared_ptr<proto::ConnectionHandler> handler) {
    Way way = way_to(server);
    return connect(driver, way, std::move(handler));
}

/// Opens the port of a peer that listens.
inline void open_port(io::Driver& driver) {
    test::need(driver.open(test::loopback()));
    if (over_tcp() && test::need(io::listen_tcp(driver, {kSamePort})).empty()) test::die("no TCP port");
}

/// Listens on a byte stream until it ends.
inline void serve_channel(io::ProtocolThread& transport, const Channel& channel) {
    io::Carriers& carriers = transport.driver().carriers();
    carriers.add(ChannelAccess::carrier(channel));
    std::promise<void> ended;
    carriers.on_gone([&](const io::StreamCarrier&) { ended.set_value(); });
    transport.start();
    ended.get_future().wait();
    transport.stop(std::chrono::milliseconds(300));
}

/// Standard input and output.
inline std::shared_ptr<Channel> standard_channel() {
    const auto own = [](int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); };
    return Channel::make(own(STDIN_FILENO), own(STDOUT_FILENO), {}, Carrier::ssh);
}

}  // namespace udtx::hostile
