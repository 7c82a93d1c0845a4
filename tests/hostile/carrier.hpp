// What carries the datagrams of the peers that lie: UDP, or what HOSTILE_CARRIER names. "tcp": TLS over TCP at the same
// port. "ssh": the connection of ssh, behind the bootstrap of far_end.sh or near_end.sh. "relay": the stream of the
// relay at port $HOSTILE_RELAY.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "io/addresses.hpp"
#include "io/carriers.hpp"
#include "io/driver.hpp"
#include "io/listening.hpp"
#include "io/protocol_thread.hpp"
#include "io/socket_setup.hpp"
#include "peer_program.hpp"
#include "proto/application.hpp"

namespace udtx::hostile {

[[nodiscard]] inline bool over(std::string_view name) {
    const char* const carrier = std::getenv("HOSTILE_CARRIER");
    return carrier != nullptr && carrier == name;
}
[[nodiscard]] inline std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) test::die(std::string("$") + name + " is missing");
    return value;
}
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

/// Connects to a far end of its own, which $HOSTILE_FAR_END starts (near_end.sh).
inline std::shared_ptr<proto::Connection> connect_over_ssh(io::Driver& driver,
                                                           std::shared_ptr<proto::ConnectionHandler> handler) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) test::die("no socket pair");
    UniqueFd own(pair[0]);
    const UniqueFd far(pair[1]);
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, far.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, far.get(), STDOUT_FILENO);
    std::string shell = "sh";
    std::string option = "-c";
    std::string command = variable("HOSTILE_FAR_END");
    const std::array<char*, 4> words{shell.data(), option.data(), command.data(), nullptr};
    pid_t child = 0;
    if (::posix_spawn(&child, "/bin/sh", &actions, nullptr, words.data(), environ) != 0) test::die("no far end");
    ::posix_spawn_file_actions_destroy(&actions);
    // Each connection has a place of its own.
    static std::uint16_t connections = 0;
    Address end;
    end.carrier = Carrier::ssh;
    end.port = ++connections;
    UniqueFd same(::fcntl(own.get(), F_DUPFD_CLOEXEC, 0));
    UniqueFd out(::fcntl(own.get(), F_DUPFD_CLOEXEC, 0));
    driver.carriers().add(std::make_shared<io::StreamCarrier>(os::stream_of(std::move(own), std::move(out)), end, end));
    return driver.connect({{.local = end, .remote = end, .options = {}}},
                          std::make_shared<Carried>(std::move(handler), std::move(same)));
}

/// As Driver::connect(), on the protocol thread or before it runs. A connection over a byte stream has one of its own.
inline std::shared_ptr<proto::Connection> connect(io::Driver& driver, const Address& server,
                                                  std::shared_ptr<proto::ConnectionHandler> handler) {
    if (over("ssh")) return connect_over_ssh(driver, std::move(handler));
    if (!over_tcp()) return driver.connect(server, std::move(handler));
    static const auto tls = test::need(openssl::TlsStreams::make(Role::client));
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const io::SocketAddress to = io::to_socket_address(server, AF_INET);
    if (::connect(socket.get(), to.get(), to.length) != 0) test::die(std::string("TCP: ") + std::strerror(errno));
    io::set_tcp_options(socket.get());
    const proto::PathAddresses path{.local = io::tcp_address(socket.get(), io::TcpEnd::here),
                                    .remote = io::tcp_address(socket.get(), io::TcpEnd::there),
                                    .options = {}};
    UniqueFd same(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
    driver.carriers().add(
        std::make_shared<io::StreamCarrier>(test::need(tls->over(std::move(socket))), path.local, path.remote));
    return driver.connect({path}, std::make_shared<Carried>(std::move(handler), std::move(same)));
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
