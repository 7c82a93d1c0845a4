// How sessions fail and end: wrong keys, no peer, restarts, close at either end.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <span>

#include "io/udp_socket.hpp"
#include "session_fixture.hpp"
#include "test/fault_case.hpp"

using namespace udtx;
using namespace udtx::test;

namespace {

Address loopback() {
    Address address;
    address.family = Address::Family::v4;
    address.ip = {127, 0, 0, 1};
    return address;
}

}  // namespace

// The undefined-behaviour sanitizer needs descriptors of its own to inspect memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

/// The next descriptor number that this process gets.
rlim_t next_descriptor() {
    const int fd = ::dup(0);
    REQUIRE(fd >= 0);
    ::close(fd);
    return static_cast<rlim_t>(fd);
}

}  // namespace

TEST_CASE("a process without a descriptor left is told so by an error, at whichever one it ends") {
    const rlim_t next = next_descriptor();
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    std::size_t failed = 0;
    bool bound = false;
    for (rlim_t more = 0; more < 16 && !bound; ++more) {
        rlimit tight = before;
        tight.rlim_cur = next + more;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
        const auto listener = Listener::bind("127.0.0.1:0", psk(1));
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
        bound = listener.ok();
        if (bound) continue;
        ++failed;
        INFO(listener.error().message);
        CHECK(listener.error().code == ErrorCode::no_resources);
        CHECK(listener.error().system_error == EMFILE);
    }
    CHECK(failed > 1);
    CHECK(bound);
}
#endif

TEST_CASE("after close() nothing that waited to be taken is handed out") {
    auto [listener, client, server] = connected_pair();
    auto stream = client.open_stream();
    REQUIRE(stream);
    REQUIRE(stream->write(bytes_of(1, 1000)));
    REQUIRE(stream->finish());  // the server's transport has received everything, so the stream waits to be accepted
    server.close();
    CHECK_FALSE(server.accept_stream(1s));
    CHECK_FALSE(server.wait_path_event(0s));
}

TEST_CASE("a wrong key is an authentication error, and the listener lives on") {
    auto listener = Listener::bind("127.0.0.1:0", psk(1));
    REQUIRE(listener);
    const std::uint16_t port = listener->local_address().port;
    const auto stranger = Session::connect("127.0.0.1", port, psk(2));
    REQUIRE_FALSE(stranger);
    INFO(stranger.error().message);
    CHECK(stranger.error().code == ErrorCode::authentication);
    CHECK(listener->accept(50ms).error().code == ErrorCode::timeout);
    CHECK(Session::connect("127.0.0.1", port, psk(1)).ok());
}

TEST_CASE("nobody listening is a network error that names the address, well before the handshake times out") {
    std::uint16_t port = 0;
    {
        const auto socket = io::open_portable_socket(loopback(), {});
        REQUIRE(socket);
        port = (*socket)->local_address().port;
    }
    const char* kind = std::getenv("UDTX_IO");
    // This kind of socket gets no ICMP errors
    const bool portable = kind != nullptr && std::string(kind) == "portable";
    TransportConfig config;
    config.handshake_timeout = portable ? 1s : 300s;
    const auto nobody = Session::connect("127.0.0.1", port, psk(1), config);
    REQUIRE_FALSE(nobody);
    INFO(nobody.error().message);
    if (portable) {
        CHECK(nobody.error().code == ErrorCode::udp_blocked);
    } else {  // checks the code, not the time: after a wait for the handshake the code would be udp_blocked
        CHECK(nobody.error().code == ErrorCode::network);
        CHECK(nobody.error().message.find(std::to_string(port)) != std::string::npos);
    }
}

TEST_CASE("silence is blocked UDP, within the handshake timeout") {
    const auto silent = io::open_portable_socket(loopback(), {});
    REQUIRE(silent);
    TransportConfig config;
    config.handshake_timeout = 500ms;
    const auto nobody = Session::connect("127.0.0.1", (*silent)->local_address().port, psk(1), config);
    REQUIRE_FALSE(nobody);
    CHECK(nobody.error().code == ErrorCode::udp_blocked);
}

TEST_CASE("a name that does not exist is a network error") {
    const auto nobody = Session::connect("host.invalid", 7000, psk(1));
    REQUIRE_FALSE(nobody);
    CHECK(nobody.error().code == ErrorCode::network);
    CHECK(nobody.error().message.find("host.invalid") != std::string::npos);
    CHECK(Listener::bind("nonsense", psk(1)).error().code == ErrorCode::invalid_argument);
}

TEST_CASE("a server that restarts on the same port can be connected to again") {
    std::string place;
    std::uint16_t port = 0;
    {
        Pair pair = connected_pair();
        port = pair.listener.local_address().port;
        place = "127.0.0.1:" + std::to_string(port);
        pair.server.close();
        CHECK(pair.client.wait_closed(60s).ok());
        CHECK(pair.client.open_stream().error().code == ErrorCode::interrupted);
    }
    auto again = Listener::bind(place, psk(1));
    REQUIRE(again);
    CHECK(Session::connect("127.0.0.1", port, psk(1)).ok());
}

TEST_CASE("what came before the peer's close can still be read") {
    Pair pair = connected_pair();
    const auto sent = bytes_of(4, 6'000'000);
    auto near = pair.client.open_stream();
    REQUIRE(near);
    REQUIRE(near->write(sent));
    REQUIRE(near->finish());
    pair.client.close();
    REQUIRE(pair.server.wait_closed(60s));
    auto far = pair.server.accept_stream(0ms);
    REQUIRE(far);
    CHECK(read_all(*far) == sent);
}

TEST_CASE("F89 close may be repeated, and every call after it is an error") {
    Pair pair = connected_pair();
    auto stream = pair.client.open_stream();
    REQUIRE(stream);
    pair.client.close();
    pair.client.close();
    std::array<std::byte, 4> room{};
    CHECK_FALSE(stream->write(room).ok());
    CHECK_FALSE(stream->read(room).ok());
    CHECK_FALSE(stream->finish().ok());
    CHECK_FALSE(pair.client.open_stream().ok());
    CHECK_FALSE(pair.client.accept_stream(1s).ok());
    CHECK(pair.client.wait_closed(0ms).ok());
    (void)pair.client.stats();
    pair.listener.close();
    pair.listener.close();
    CHECK_FALSE(pair.listener.accept(1s).ok());
    const bool peer_told = pair.server.wait_closed(60s).ok();
    CHECK(peer_told);
    test::fault_case(89, "closed twice: 5 later calls are errors, the peer sees the end",
                     "the peer saw it: ", peer_told);
}

TEST_CASE("F89 close wakes whoever is blocked, and streams outlive their session") {
    Pair pair = connected_pair();
    auto stream = pair.client.open_stream();
    REQUIRE(stream);
    std::atomic<bool> reader_failed = false;
    std::atomic<bool> acceptor_failed = false;
    std::thread reader([&] {
        std::array<std::byte, 4> room{};
        reader_failed = !stream->read(room).ok();
    });
    std::thread acceptor([&] { acceptor_failed = !pair.client.accept_stream(600s).ok(); });
    std::this_thread::sleep_for(20ms);
    pair.client.close();
    reader.join();
    acceptor.join();
    CHECK(reader_failed);
    CHECK(acceptor_failed);
    { const Session gone = std::move(pair.client); }
    CHECK_FALSE(stream->finish().ok());
    CHECK_FALSE(pair.client.open_stream().ok());  // the session was moved from
    test::fault_case(89, "closed while two threads wait, destroyed before its stream: both return with errors",
                     int{reader_failed} + int{acceptor_failed}, " of 2 returned");
}

TEST_CASE("a peer that vanishes is noticed after the idle time") {
    TransportConfig config;
    config.idle_timeout = 3s;  // longer than a busy machine delays two threads
    config.keep_alive = 0s;
    Pair pair = connected_pair(config);
    const auto end = pair.client.wait_closed(60s);
    REQUIRE_FALSE(end);
    CHECK(end.error().code == ErrorCode::timeout);
}

TEST_CASE("a session that nobody accepted is closed with its listener") {
    auto listener = Listener::bind("127.0.0.1:0", psk(1));
    REQUIRE(listener);
    auto client = Session::connect("127.0.0.1", listener->local_address().port, psk(1));
    REQUIRE(client);
    { const Listener gone = std::move(*listener); }
    (void)client->wait_closed(60s);
    CHECK_FALSE(client->open_stream().ok());
}

TEST_CASE("F90 in a fork of the process a session says so, sends nothing and may be destroyed; the parent goes on") {
    auto pair = std::make_unique<Pair>(connected_pair());
    auto near = std::make_unique<Stream>(*pair->client.open_stream());
    REQUIRE(near->write(bytes_of(1, 100'000)));
    auto far = pair->server.accept_stream(60s);
    REQUIRE(far);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(300);  // ends the process instead of hanging
        const auto refused = [](const auto& result) {
            return !result && result.error().code == ErrorCode::invalid_argument;
        };
        std::array<std::byte, 10> room{};
        bool ok = refused(near->write(room)) && refused(near->read(room)) && refused(near->finish());
        ok = ok && refused(pair->client.open_stream()) && refused(pair->client.accept_stream(10ms));
        ok = ok && refused(pair->client.stats()) && refused(pair->server.wait_closed(10ms));
        ok = ok && refused(pair->listener.accept(10ms));
        far = Error{};
        near.reset();
        pair.reset();
        ::_exit(ok ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    REQUIRE(near->write(bytes_of(2, 100'000)));
    std::vector<std::byte> came(200'000);
    std::size_t have = 0;
    while (have < came.size()) {
        const auto count = far->read(std::span(came).subspan(have));
        REQUIRE(count);
        REQUIRE(*count > 0);
        have += *count;
    }
    CHECK(std::ranges::equal(std::span(came).first(100'000), bytes_of(1, 100'000)));
    CHECK(std::ranges::equal(std::span(came).subspan(100'000), bytes_of(2, 100'000)));
    const auto stats = pair->client.stats();
    REQUIRE(stats);
    CHECK(stats->duplicate_packets == 0);
    test::fault_case(90, "after a fork the child sends nothing: no packet number is used twice",
                     stats->duplicate_packets, " duplicates, ", have, " bytes unchanged");
}
