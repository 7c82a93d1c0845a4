// What strangers can hold at the TCP port of a server, in virtual time and over real sockets.
#include "io/carriers.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/addresses.hpp"
#include "io/event_loop.hpp"
#include "io/protocol_thread.hpp"
#include "io/socket_setup.hpp"
#include "test/catch.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;

namespace {

constexpr std::size_t kAll = io::Carriers::kMaxHalfOpen;
constexpr std::size_t kPerHost = io::Carriers::kMaxHalfOpenPerHost;

/// A host of 127.0.0.0/8, all of which are this machine. Number 0 is where the server listens.
Address loopback_host(unsigned number) {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {127, 0, static_cast<std::uint8_t>(number >> 8U), static_cast<std::uint8_t>(1 + (number & 0x7fU))};
    return address;
}

bool wait_for(int fd, short events) {
    pollfd entry{fd, events, 0};
    return ::poll(&entry, 1, 20'000) == 1;
}

/// True if the stream has something to read within so many milliseconds.
bool wait_for(const std::shared_ptr<io::StreamCarrier>& carrier, int milliseconds) {
    std::vector<os::Watch> watches;
    carrier->watch(watches);
    pollfd entry{watches.front().fd, POLLIN, 0};
    return ::poll(&entry, 1, milliseconds) == 1;
}

/// An endpoint and its byte streams.
struct End {
    explicit End(std::uint8_t key, std::size_t share = 0, std::size_t shares = 1)
        : deps(*io::EndpointDeps::make_keys(Credentials::from_psk(std::array<std::byte, 32>{std::byte{key}}))),
          endpoint(deps.view(), TransportConfig{}),
          carriers(endpoint, share, shares) {}

    /// Handles what is ready, or becomes ready within `real` time, as a driver does.
    void turn(Instant now, Duration real = Duration::zero()) {
        static_cast<void>(loop.wait(-1, {}, monotonic_now() + real, carriers.watches()));
        carriers.turn(now);
        if (const auto due = endpoint.poll_timeout(); due && *due <= now) endpoint.handle_timeout(now);
        drain_events();
        while (const auto accepted = endpoint.accept()) connections.push_back(accepted);
        while (const auto transmit = endpoint.poll_transmit(now, 64, buffer)) {
            REQUIRE_FALSE(transmit->key);
            carriers.send(now, *transmit, std::span(buffer).first(transmit->size));
        }
        drain_events();
    }
    void drain_events() {
        while (const auto connection = endpoint.poll_touched()) {
            while (connection->poll_event()) {
            }
        }
    }

    io::EndpointDeps deps;
    proto::Endpoint endpoint;
    io::Carriers carriers;
    io::EventLoop loop;
    std::vector<std::byte> buffer = std::vector<std::byte>(65'000);
    std::vector<std::shared_ptr<proto::Connection>> connections;
};

class Server : public End {
  public:
    explicit Server(std::size_t shares = 1) : End(1, 0, shares) {
        io::ignore_broken_pipes();
        UniqueFd socket = *io::bind_tcp(loopback_host(0));
        listening_ = socket.get();
        port_ = io::tcp_address(listening_, io::TcpEnd::here).port;
        carriers.listen(std::move(socket), *openssl::TlsStreams::make(Role::server));
        endpoint.listen(100);
        turn(now);
    }

    /// A TCP connection that the server has accepted, and closed at once if it has no place for it.
    UniqueFd knock(unsigned from) {
        UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const io::SocketAddress here = io::to_socket_address(loopback_host(from), AF_INET);
        Address to = loopback_host(0);
        to.port = port_;
        const io::SocketAddress there = io::to_socket_address(to, AF_INET);
        REQUIRE(::bind(socket.get(), here.get(), here.length) == 0);
        REQUIRE(::connect(socket.get(), there.get(), there.length) == 0);
        REQUIRE(wait_for(listening_, POLLIN));
        turn(now);
        return socket;
    }
    [[nodiscard]] std::size_t held() { return carriers.watches().size() - 1; }

    Instant now = monotonic_now();

  private:
    int listening_ = -1;
    std::uint16_t port_ = 0;
};

/// The client's end of a stream over `socket`.
std::shared_ptr<io::StreamCarrier> stream_over(UniqueFd socket) {
    static const auto tls = *openssl::TlsStreams::make(Role::client);
    io::set_tcp_options(socket.get());
    const Address local = io::tcp_address(socket.get(), io::TcpEnd::here);
    const Address remote = io::tcp_address(socket.get(), io::TcpEnd::there);
    return std::make_shared<io::StreamCarrier>(*tls->over(std::move(socket)), local, remote);
}

bool closed(const UniqueFd& socket) {
    char byte = 0;
    return wait_for(socket.get(), POLLIN) && ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) <= 0;
}

bool is_closed_now(const UniqueFd& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

/// A client with a key that connects over TCP only.
class Client : public End {
  public:
    Client(Server& server, unsigned from, std::uint8_t key) : End(key) {
        auto carrier = stream_over(server.knock(from));
        carrier_ = carrier;
        connection =
            endpoint.connect(server.now, {{.local = carrier->local(), .remote = carrier->remote(), .options = {}}});
        carriers.add(std::move(carrier));
    }
    [[nodiscard]] std::shared_ptr<io::StreamCarrier> carrier() const { return carrier_.lock(); }
    [[nodiscard]] bool over() const { return !carrier() || carrier()->ended(); }

    std::shared_ptr<proto::Connection> connection;

  private:
    std::weak_ptr<io::StreamCarrier> carrier_;
};

/// Lets both ends run until the condition holds. Virtual time passes in steps, as long as their datagrams travel.
template <typename Condition>
bool run(Server& server, Client& client, Duration step, const Condition& condition) {
    for (int i = 0; i < 1000; ++i) {
        if (condition()) return true;
        server.now += step;
        client.turn(server.now, 1ms);
        server.turn(server.now);
    }
    return false;
}

bool prove(Server& server, Client& client) {
    return run(server, client, 1ms, [&] { return client.connection->connected() && !server.connections.empty(); });
}

bool many_loopback_hosts() {
#ifdef __linux__
    return true;
#else
    WARN("skipped: this system has one loopback address");
    return false;
#endif
}

}  // namespace

TEST_CASE("strangers of one host hold few places at the TCP port, and others still come in") {
    if (!many_loopback_hosts()) return;
    Server server;
    std::vector<UniqueFd> strangers;
    for (std::size_t i = 0; i < kPerHost; ++i) strangers.push_back(server.knock(1));
    CHECK(server.held() == kPerHost);
    const UniqueFd beyond = server.knock(1);
    CHECK(closed(beyond));
    CHECK(server.held() == kPerHost);
    const UniqueFd other = server.knock(2);
    CHECK(server.held() == kPerHost + 1);
    // Who leaves makes room at once.
    strangers.pop_back();
    while (server.held() > kPerHost) server.turn(server.now);
    const UniqueFd again = server.knock(1);
    CHECK(server.held() == kPerHost + 1);
}

TEST_CASE("strangers of many hosts hold a bounded number of places, for a bounded time") {
    if (!many_loopback_hosts()) return;
    Server server;
    const Instant begin = server.now;
    std::vector<UniqueFd> strangers;
    for (std::size_t i = 0; i < kAll; ++i) strangers.push_back(server.knock(1 + static_cast<unsigned>(i / kPerHost)));
    CHECK(server.held() == kAll);
    const UniqueFd beyond = server.knock(100);
    CHECK(closed(beyond));
    CHECK(server.held() == kAll);

    CHECK(server.carriers.deadline() == begin + io::Carriers::kHalfOpenTime);
    server.turn(begin + io::Carriers::kHalfOpenTime - 1ms);
    CHECK(server.held() == kAll);
    server.turn(begin + io::Carriers::kHalfOpenTime);
    CHECK(server.held() == 0);
    CHECK_FALSE(server.carriers.deadline());
    for (const UniqueFd& stranger : strangers) CHECK(closed(stranger));
    server.now = begin + io::Carriers::kHalfOpenTime;
    const UniqueFd later = server.knock(100);
    CHECK(server.held() == 1);
}

TEST_CASE("a stranger that has waited for long makes room for the next one of its host, or of all") {
    if (!many_loopback_hosts()) return;
    Server server;
    std::vector<UniqueFd> strangers;
    for (std::size_t i = 0; i < kPerHost; ++i) {
        strangers.push_back(server.knock(1));
        server.now += 1ms;
    }
    const UniqueFd early = server.knock(2);
    CHECK(closed(server.knock(1)));
    server.now += io::Carriers::kHalfOpenGrace;
    const UniqueFd next = server.knock(1);
    CHECK(closed(strangers.front()));
    CHECK_FALSE(is_closed_now(strangers[1]));
    CHECK_FALSE(is_closed_now(early));
    CHECK_FALSE(is_closed_now(next));
    CHECK(server.held() == kPerHost + 1);
    for (unsigned from = 3; server.held() < kAll; ++from) {
        for (std::size_t i = 0; i < kPerHost && server.held() < kAll; ++i) strangers.push_back(server.knock(from));
    }
    const UniqueFd last = server.knock(100);
    CHECK(closed(strangers[1]));
    CHECK_FALSE(is_closed_now(last));
    CHECK(server.held() == kAll);
}

TEST_CASE("a client that has proven its key leaves the budget, and no stranger displaces it") {
    if (!many_loopback_hosts()) return;
    Server server;
    Client client(server, 1, 1);
    REQUIRE(prove(server, client));
    server.turn(server.now);
    CHECK_FALSE(server.carriers.deadline());

    std::vector<UniqueFd> strangers;
    for (std::size_t i = 0; i < kAll; ++i) strangers.push_back(server.knock(1 + static_cast<unsigned>(i / kPerHost)));
    CHECK(server.held() == kAll + 1);
    // Later strangers displace earlier ones only.
    for (int second = 0; second < 12; ++second) {
        const Instant until = server.now + 1s;
        REQUIRE(run(server, client, 50ms, [&] { return server.now >= until; }));
        for (unsigned i = 0; i < 20; ++i) strangers.push_back(server.knock(1));
    }
    CHECK_FALSE(client.over());
    REQUIRE(server.connections.size() == 1);
    CHECK(server.connections.front()->connected());
    // Data passes on.
    const auto stream = client.connection->open_stream(StreamKind::ordered);
    REQUIRE(stream);
    REQUIRE(client.connection->write(*stream, Chunk::copy_of(std::vector<std::byte>(1000))));
    std::array<std::byte, 2000> block{};
    std::size_t arrived = 0;
    CHECK(run(server, client, 1ms, [&] {
        arrived += server.connections.front()->read(*stream, block).bytes;
        return arrived == 1000;
    }));
}

TEST_CASE("a stream whose connection has ended counts among those of strangers again") {
    Server server;
    Client client(server, 0, 1);
    REQUIRE(prove(server, client));
    server.turn(server.now);
    CHECK_FALSE(server.carriers.deadline());
    client.connection->close(server.now, 0, "");
    client.connection.reset();
    server.connections.clear();
    REQUIRE(run(server, client, 100ms, [&] { return server.endpoint.connection_count() == 0; }));
    server.turn(server.now);
    CHECK(server.held() == 1);
    REQUIRE(server.carriers.deadline());
    server.now += io::Carriers::kHalfOpenTime;
    server.turn(server.now);
    CHECK(server.held() == 0);
    client.turn(server.now, 1ms);
    CHECK(client.over());
}

TEST_CASE("a stream that names another thread needs a place there") {
    Server server(2);
    End second(1, 1, 2);
    std::size_t passed = 0;
    server.carriers.on_elsewhere([&](std::size_t share, std::shared_ptr<io::StreamCarrier> carrier, Instant accepted) {
        CHECK(share == 1);
        ++passed;
        second.carriers.take(server.now, std::move(carrier), accepted);
    });
    const std::vector odd(40, std::byte{0x41});  // an id whose connection is the second thread's
    std::vector<std::shared_ptr<io::StreamCarrier>> strangers;
    for (std::size_t i = 0; i < kPerHost + 5; ++i) {
        strangers.push_back(stream_over(server.knock(0)));
        strangers.back()->send(odd, odd.size());
        for (int k = 0; k < 10'000 && passed <= i; ++k) {
            strangers.back()->receive([](std::span<std::byte>) { return true; });
            strangers.back()->flush();
            server.turn(server.now, 1ms);
        }
        REQUIRE(passed == i + 1);
    }
    CHECK(server.held() == 0);
    CHECK(second.carriers.watches().size() == kPerHost);
    server.now += io::Carriers::kHalfOpenTime;
    second.turn(server.now);
    CHECK(second.carriers.watches().empty());
}

TEST_CASE("a client without the key holds its place no longer than one that says nothing") {
    Server server;
    const Instant begin = server.now;
    const UniqueFd silent = server.knock(0);
    Client stranger(server, 0, 2);
    bool connected = false;
    static_cast<void>(run(server, stranger, 10ms, [&] {
        connected = connected || stranger.connection->connected() || !server.connections.empty();
        return server.now >= begin + 2s;
    }));
    CHECK_FALSE(connected);
    CHECK(server.held() == 2);
    REQUIRE(server.now < begin + io::Carriers::kHalfOpenTime);
    server.now = begin + io::Carriers::kHalfOpenTime;
    server.turn(server.now);
    CHECK(server.held() == 0);
    CHECK(closed(silent));
    stranger.turn(server.now);
    CHECK(stranger.over());
}

TEST_CASE("whoever speaks no TLS leaves the budget at once") {
    Server server;
    const std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const UniqueFd stranger = server.knock(0);
    CHECK(server.held() == 1);
    REQUIRE(::send(stranger.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    for (int i = 0; i < 100'000 && server.held() > 0; ++i) server.turn(server.now);
    CHECK(server.held() == 0);
}

TEST_CASE("answers to a stranger who does not read them are dropped, not kept") {
    Server server;
    Client stranger(server, 0, 2);
    REQUIRE(run(server, stranger, 1ms, [&] { return stranger.carrier()->open(); }));
    // Each asks for the list of versions.
    std::vector<std::byte> hello(wire::kLeastInitialDatagram);
    hello[0] = std::byte{0x80};
    std::fill_n(hello.begin() + 1, 4, std::byte{0xfa});
    constexpr std::size_t kHellos = 60'000;
    constexpr std::size_t kAtOnce = 50;  // fewer than the answers that an endpoint queues
    for (std::size_t i = 0; i < kHellos; i += kAtOnce) {
        for (std::size_t k = 0; k < kAtOnce; ++k) stranger.carrier()->send(hello, hello.size());
        do {
            stranger.carrier()->flush();
            server.turn(server.now);
        } while (stranger.carrier()->queued() > 0);
    }
    REQUIRE(server.held() == 1);
    // The rest is in the kernel and on its way, at most some hundred kilobytes.
    std::size_t bytes = 0;
    while (wait_for(stranger.carrier(), 100)) {
        stranger.carrier()->receive([&](std::span<std::byte> datagram) {
            bytes += datagram.size();
            return true;
        });
        server.turn(server.now);
    }
    CHECK(bytes > 0);
    CHECK(bytes < 1'000'000);
}
