// TLS as the outer layer of a byte stream: two ends over a socket pair, and peers that do not speak it.
#include "openssl/tls_stream.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "test/bytes.hpp"
#include "test/catch.hpp"

using namespace udtx;
using udtx::test::from_text;

namespace {

struct StreamSockets {
    StreamSockets() {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        near.reset(ends[0]);
        far.reset(ends[1]);
        std::signal(SIGPIPE, SIG_IGN);
    }
    UniqueFd near, far;
};

std::unique_ptr<os::ByteStream> tls_over(Role role, UniqueFd socket, const std::string& name = {}) {
    auto streams = openssl::TlsStreams::make(role);
    REQUIRE(streams);
    auto stream = (*streams)->over(std::move(socket), name);
    REQUIRE(stream);
    return std::move(*stream);
}

/// What the stream reads until it would block or ends.
struct Got {
    std::vector<std::byte> bytes{};
    std::optional<std::string> over{};
};
Got read_all(os::ByteStream& stream, std::size_t most = SIZE_MAX) {
    Got got;
    std::array<std::byte, 5000> block{};
    while (got.bytes.size() < most) {
        auto moved = stream.read(block);
        got.bytes.insert(got.bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
        got.over = std::move(moved.over);
        if (got.over || moved.bytes == 0) break;
    }
    return got;
}
std::vector<std::byte> raw_bytes(int fd) {
    std::vector<std::byte> all(65'536);
    const auto n = ::recv(fd, all.data(), all.size(), MSG_DONTWAIT);
    all.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return all;
}
void say(int fd, std::span<const std::byte> bytes) {
    REQUIRE(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

/// Both ends after their handshake.
struct TlsEnds {
    TlsEnds() {
        StreamSockets sockets;
        client = tls_over(Role::client, std::move(sockets.near), "udtx.example");
        server = tls_over(Role::server, std::move(sockets.far));
        for (int i = 0; i < 4; ++i) {
            CHECK(read_all(*client).bytes.empty());
            CHECK(read_all(*server).bytes.empty());
        }
        REQUIRE(client->open());
        REQUIRE(server->open());
    }
    std::unique_ptr<os::ByteStream> client;
    std::unique_ptr<os::ByteStream> server;
};

/// The first bytes of a client: its ClientHello.
std::vector<std::byte> client_hello() {
    StreamSockets sockets;
    const auto client = tls_over(Role::client, std::move(sockets.near));
    CHECK(client->read({}).bytes == 0);
    auto hello = raw_bytes(sockets.far.get());
    REQUIRE(hello.size() > 100);
    return hello;
}

}  // namespace

TEST_CASE("two ends of TLS pass on bytes in both directions, more than the sockets hold, and learn of the end") {
    TlsEnds ends;
    std::vector<std::byte> sent(3'000'000);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 31 >> 3U);
    for (const bool back : {false, true}) {
        os::ByteStream& from = back ? *ends.server : *ends.client;
        os::ByteStream& to = back ? *ends.client : *ends.server;
        std::vector<std::byte> got;
        std::size_t at = 0;
        bool blocked = false;
        while (got.size() < sent.size()) {
            if (at < sent.size()) {
                const auto moved = from.write(std::span(sent).subspan(at));
                REQUIRE_FALSE(moved.over);
                at += moved.bytes;
                if (moved.bytes > 0) continue;
                blocked = true;
            }
            const Got more = read_all(to);
            REQUIRE_FALSE(more.over);
            got.insert(got.end(), more.bytes.begin(), more.bytes.end());
        }
        CHECK(got == sent);
        CHECK(blocked);
    }
    ends.client.reset();
    CHECK(read_all(*ends.server).over);
}

TEST_CASE("a server of TLS ends the stream of a peer that does not speak it, with an alert at most") {
    for (const std::string text :
         {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n", "\r\n\r\n\r\n\r\n",
          "\x80\x2e\x01\x03\x01 an SSLv2 hello, or what looks like one to a server"}) {
        INFO(text);
        StreamSockets sockets;
        const auto server = tls_over(Role::server, std::move(sockets.near));
        say(sockets.far.get(), from_text(text));
        const Got got = read_all(*server);
        CHECK(got.bytes.empty());
        CHECK(got.over);
        CHECK_FALSE(server->open());
        CHECK(raw_bytes(sockets.far.get()).size() <= 7);  // an alert at most
        CHECK(server->write(from_text("secret")).over);
        CHECK(raw_bytes(sockets.far.get()).empty());
    }
}

TEST_CASE("a peer that stops anywhere in its hello keeps the stream closed to data, and costs nothing else") {
    const auto hello = client_hello();
    for (std::size_t cut = 0; cut < hello.size(); cut += 7) {
        INFO("after " << cut << " bytes");
        StreamSockets sockets;
        const auto server = tls_over(Role::server, std::move(sockets.near));
        say(sockets.far.get(), std::span(hello).first(cut));
        const Got waits = read_all(*server);
        CHECK(waits.bytes.empty());
        CHECK_FALSE(waits.over);
        const auto none = server->write(from_text("datagram"));
        CHECK((none.bytes == 0 && !none.over));
        CHECK_FALSE(server->open());
        CHECK(raw_bytes(sockets.far.get()).empty());
        // Its end is noticed.
        sockets.far.reset();
        CHECK(read_all(*server).over);
    }
}

TEST_CASE("after a whole hello nothing but the rest of the handshake opens the stream") {
    const auto hello = client_hello();
    StreamSockets sockets;
    const auto server = tls_over(Role::server, std::move(sockets.near));
    say(sockets.far.get(), hello);
    CHECK_FALSE(read_all(*server).over);
    CHECK(raw_bytes(sockets.far.get()).size() > 300);  // the server's part
    const auto none = server->write(from_text("datagram"));
    CHECK((none.bytes == 0 && !none.over));
    CHECK_FALSE(server->open());
    std::vector<std::byte> garbage(500, std::byte{0x17});
    say(sockets.far.get(), garbage);
    const Got got = read_all(*server);
    CHECK(got.bytes.empty());
    CHECK(got.over);
}

TEST_CASE("a changed record ends the stream, and nothing of it is passed on") {
    StreamSockets outer;
    StreamSockets inner;
    const auto client = tls_over(Role::client, std::move(outer.near));
    const auto server = tls_over(Role::server, std::move(inner.near));
    const auto move = [](const UniqueFd& from, const UniqueFd& to, bool changed) {
        auto bytes = raw_bytes(from.get());
        if (changed) bytes.back() ^= std::byte{1};
        if (!bytes.empty()) say(to.get(), bytes);
    };
    for (int i = 0; i < 4; ++i) {
        static_cast<void>(read_all(*client));
        move(outer.far, inner.far, false);
        static_cast<void>(read_all(*server));
        move(inner.far, outer.far, false);
    }
    REQUIRE(client->open());
    REQUIRE(server->open());
    REQUIRE(client->write(from_text("true")).bytes == 4);
    move(outer.far, inner.far, false);
    CHECK(read_all(*server).bytes == from_text("true"));
    REQUIRE(client->write(from_text("false")).bytes == 5);
    move(outer.far, inner.far, true);
    const Got got = read_all(*server);
    CHECK(got.bytes.empty());
    CHECK(got.over);
}

TEST_CASE("TLS before 1.3 is refused, and the name of the host is sent only if there is one") {
    StreamSockets named;
    const auto client = tls_over(Role::client, std::move(named.near), "udtx.example");
    CHECK(client->read({}).bytes == 0);
    const auto contains = [](const std::vector<std::byte>& bytes, const std::string& text) {
        const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return all.find(text) != std::string::npos;
    };
    CHECK(contains(raw_bytes(named.far.get()), "udtx.example"));
    CHECK_FALSE(contains(client_hello(), "example"));

    const openssl::ContextPtr old(SSL_CTX_new(TLS_client_method()));
    REQUIRE(SSL_CTX_set_max_proto_version(old.get(), TLS1_2_VERSION) == 1);
    StreamSockets sockets;
    const openssl::SslPtr ssl(SSL_new(old.get()));
    REQUIRE(SSL_set_fd(ssl.get(), sockets.far.get()) == 1);
    const auto server = tls_over(Role::server, std::move(sockets.near));
    const int flags = ::fcntl(sockets.far.get(), F_GETFL);
    REQUIRE(::fcntl(sockets.far.get(), F_SETFL, flags | O_NONBLOCK) == 0);
    CHECK(SSL_connect(ssl.get()) <= 0);
    CHECK(read_all(*server).over);
    CHECK_FALSE(server->open());
}
