#include "io/udp_socket.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>

#include "test/catch.hpp"
#include "udtx/address.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using Status = io::SendResult::Status;

namespace {

using Opener = std::function<Result<std::unique_ptr<io::DatagramSocket>>(const Address&, const io::SocketOptions&)>;

struct Kind {
    const char* name;
    Opener open;
};

std::vector<Kind> kinds() {
    std::vector<Kind> result{{"portable", io::open_portable_socket}};
#ifdef __linux__
    result.push_back({"linux", io::open_linux_socket});
#endif
    return result;
}

Address at(const std::string& host) {
    const auto addresses = resolve(host, 0);
    REQUIRE(addresses);
    return addresses->front();
}

std::unique_ptr<io::DatagramSocket> open(const Kind& kind, const std::string& host) {
    auto socket = kind.open(at(host), {});
    REQUIRE(socket);
    return std::move(*socket);
}

bool has_ipv6() { return io::open_portable_socket(at("::1"), {}).ok(); }

bool wait_for(const io::DatagramSocket& socket, short what) {
    pollfd descriptor{socket.native_handle(), what, 0};
    return ::poll(&descriptor, 1, 2000) > 0;
}

struct Got {
    std::vector<std::byte> bytes;
    proto::RxDatagram info;
};

/// Receives until `count` datagrams have arrived, or nothing arrives for two seconds.
std::vector<Got> receive(io::DatagramSocket& socket, std::size_t count) {
    std::vector<Got> result;
    while (result.size() < count && wait_for(socket, POLLIN)) {
        for (const proto::RxDatagram& datagram : socket.receive()) {
            result.push_back({{datagram.data.begin(), datagram.data.end()}, datagram});
        }
    }
    return result;
}

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> result(size);
    for (std::size_t i = 0; i < size; ++i) result[i] = static_cast<std::byte>((i * 31 + i / 251) & 0xff);
    return result;
}

proto::Transmit to(const Address& remote, std::size_t size, std::size_t segment) {
    proto::Transmit transmit;
    transmit.remote = remote;
    transmit.size = size;
    transmit.segment = segment;
    return transmit;
}

void check_batch(io::DatagramSocket& from, io::DatagramSocket& receiver, const Address& remote, std::size_t size,
                 std::size_t segment) {
    const auto bytes = pattern(size);
    const Instant before = monotonic_now();
    const auto sent = from.send(to(remote, size, segment), bytes);
    CHECK(sent.status == Status::sent);
    CHECK(sent.bytes == size);
    const auto got = receive(receiver, (size + segment - 1) / segment);
    const Instant after = monotonic_now();
    REQUIRE(got.size() == (size + segment - 1) / segment);
    std::vector<std::byte> together;
    for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i].bytes.size() == std::min(segment, size - i * segment));
        together.insert(together.end(), got[i].bytes.begin(), got[i].bytes.end());
        CHECK(got[i].info.remote.port == from.local_address().port);
        if (got[i].info.received) {
            CHECK(*got[i].info.received >= before - std::chrono::milliseconds(1));
            CHECK(*got[i].info.received <= after);
        }
    }
    CHECK(together == bytes);
}

}  // namespace

TEST_CASE("a batch arrives as datagrams of the right sizes") {
    for (const Kind& kind : kinds()) {
        INFO(kind.name);
        for (const char* host : {"127.0.0.1", "::1"}) {
            if (std::string(host) == "::1" && !has_ipv6()) continue;
            INFO(host);
            const auto a = open(kind, host);
            const auto b = open(kind, host);
            CHECK(b->receive().empty());
            check_batch(*a, *b, b->local_address(), 1200, 1200);
            check_batch(*a, *b, b->local_address(), 44 * 1472, 1472);
            check_batch(*a, *b, b->local_address(), 10 * 1200 + 1, 1200);
            check_batch(*a, *b, b->local_address(), 1, 1);
        }
    }
}

TEST_CASE("the ECN field leaves and arrives with each datagram") {
    using proto::Ecn;
    for (const Kind& kind : kinds()) {
        INFO(kind.name);
        for (const char* host : {"127.0.0.1", "::1"}) {
            if (std::string(host) == "::1" && !has_ipv6()) continue;
            INFO(host);
            const auto a = open(kind, host);
            const auto b = open(kind, host);
            // Linux sends the batch in one call (GSO) and receives it in one buffer (GRO).
            for (const std::size_t datagrams : {1U, 10U}) {
                const auto bytes = pattern(datagrams * 1200);
                for (const Ecn ecn : {Ecn::ect0, Ecn::not_ect, Ecn::ce, Ecn::ect1}) {
                    auto batch = to(b->local_address(), bytes.size(), 1200);
                    batch.ecn = ecn;
                    REQUIRE(a->send(batch, bytes).status == Status::sent);
                    const auto got = receive(*b, datagrams);
                    REQUIRE(got.size() == datagrams);
                    for (const Got& one : got) CHECK(one.info.ecn == ecn);
                }
            }
        }
    }
}

TEST_CASE("a socket for both families reads the ECN field of IPv4") {
    if (!has_ipv6()) return;
    for (const Kind& kind : kinds()) {
        INFO(kind.name);
        const auto server = open(kind, "::");
        const auto client = open(kind, "127.0.0.1");
        Address remote = at("127.0.0.1");
        remote.port = server->local_address().port;
        const auto bytes = pattern(100);
        auto batch = to(remote, 100, 100);
        batch.ecn = proto::Ecn::ce;
        REQUIRE(client->send(batch, bytes).status == Status::sent);
        const auto got = receive(*server, 1);
        REQUIRE(got.size() == 1);
        CHECK(got[0].info.ecn == proto::Ecn::ce);
    }
}

#ifdef __linux__
TEST_CASE("an ECN field that another program sets arrives through GRO") {
    const Kind kind{"linux", io::open_linux_socket};
    const auto receiver = open(kind, "127.0.0.1");
    const auto sender = open(kind, "127.0.0.1");
    const int field = 3;
    REQUIRE(::setsockopt(sender->native_handle(), IPPROTO_IP, IP_TOS, &field, sizeof field) == 0);
    const auto bytes = pattern(10 * 1200);
    REQUIRE(sender->send(to(receiver->local_address(), bytes.size(), 1200), bytes).status == Status::sent);
    const auto got = receive(*receiver, 10);
    REQUIRE(got.size() == 10);
    for (const Got& one : got) CHECK(one.info.ecn == proto::Ecn::ce);
    CHECK(got[0].info.coalesced);
}

TEST_CASE("Linux sends the ECN field to IPv4 from a socket for both families") {
    if (!has_ipv6()) return;
    const Kind kind{"linux", io::open_linux_socket};
    const auto server = open(kind, "::");
    const auto client = open(kind, "127.0.0.1");
    const auto bytes = pattern(100);
    auto batch = to(client->local_address(), 100, 100);
    batch.ecn = proto::Ecn::ect0;
    REQUIRE(server->send(batch, bytes).status == Status::sent);
    const auto got = receive(*client, 1);
    REQUIRE(got.size() == 1);
    CHECK(got[0].info.ecn == proto::Ecn::ect0);
}

TEST_CASE("Linux stamps each receipt, and tells coalesced datagrams from single ones") {
    const Kind kind{"linux", io::open_linux_socket};
    const auto a = open(kind, "127.0.0.1");
    const auto b = open(kind, "127.0.0.1");
    const auto bytes = pattern(10 * 1200);
    REQUIRE(a->send(to(b->local_address(), bytes.size(), 1200), bytes).status == Status::sent);
    for (const Got& got : receive(*b, 10)) CHECK(got.info.received.has_value());

    REQUIRE(a->send(to(b->local_address(), 1000, 1000), std::span(bytes).first(1000)).status == Status::sent);
    const auto alone = receive(*b, 1);
    REQUIRE(alone.size() == 1);
    CHECK(alone[0].info.received.has_value());
    CHECK_FALSE(alone[0].info.coalesced);
}

TEST_CASE("a reply leaves from the address that was asked") {
    const Kind kind{"linux", io::open_linux_socket};
    const auto server = open(kind, "0.0.0.0");
    const auto client = open(kind, "127.0.0.1");
    Address asked = at("127.0.0.3");
    asked.port = server->local_address().port;
    const auto bytes = pattern(100);
    REQUIRE(client->send(to(asked, 100, 100), bytes).status == Status::sent);
    const auto request = receive(*server, 1);
    REQUIRE(request.size() == 1);
    CHECK(request[0].info.local == asked);

    auto reply = to(request[0].info.remote, 100, 100);
    reply.local = request[0].info.local;
    REQUIRE(server->send(reply, bytes).status == Status::sent);
    const auto answer = receive(*client, 1);
    REQUIRE(answer.size() == 1);
    CHECK(answer[0].info.remote == asked);
}

TEST_CASE("nobody listening is told by the error queue and does not disturb other datagrams") {
    const Kind kind{"linux", io::open_linux_socket};
    const auto client = open(kind, "127.0.0.1");
    const auto alive = open(kind, "127.0.0.1");
    const Address dead = open(kind, "127.0.0.1")->local_address();  // closed again at once
    const auto bytes = pattern(100);
    REQUIRE(client->send(to(dead, 100, 100), bytes).status == Status::sent);
    REQUIRE(wait_for(*client, POLLIN));
    CHECK(client->receive().empty());
    const auto refusals = client->take_refusals();
    REQUIRE(refusals.size() == 1);
    CHECK(refusals[0] == io::Refusal{dead, ECONNREFUSED});
    CHECK(refusals[0].port_closed());
    CHECK(client->take_refusals().empty());

    // The error of the first datagram is reported at the second send, which must still send its datagram.
    REQUIRE(client->send(to(dead, 100, 100), bytes).status == Status::sent);
    REQUIRE(wait_for(*client, POLLIN));
    REQUIRE(client->send(to(alive->local_address(), 100, 100), bytes).status == Status::sent);
    CHECK(receive(*alive, 1).size() == 1);
    CHECK(client->take_refusals().size() == 1);
}
#endif

TEST_CASE("a socket on all IPv6 addresses serves IPv4 too") {
    if (!has_ipv6()) return;
    for (const Kind& kind : kinds()) {
        INFO(kind.name);
        const auto server = open(kind, "::");
        const auto client = open(kind, "127.0.0.1");
        Address remote = at("127.0.0.1");
        remote.port = server->local_address().port;
        check_batch(*client, *server, remote, 3000, 1200);
        check_batch(*server, *client, client->local_address(), 3000, 1200);
    }
}

TEST_CASE("datagrams that do not fit are refused, not fragmented") {
    for (const Kind& kind : kinds()) {
        INFO(kind.name);
        const auto a = open(kind, "127.0.0.1");
        const auto b = open(kind, "127.0.0.1");
        const auto bytes = pattern(65530);  // too large for an IPv4 packet with its headers
        CHECK(a->send(to(b->local_address(), bytes.size(), bytes.size()), bytes).status == Status::too_large);
        check_batch(*a, *b, b->local_address(), 1200, 1200);
    }
}

TEST_CASE("to an address of the other family there is no way") {
    for (const Kind& kind : kinds()) {
        const auto a = open(kind, "127.0.0.1");
        Address remote = at("::1");
        remote.port = 7000;
        const auto bytes = pattern(10);
        const auto result = a->send(to(remote, 10, 10), bytes);
        CHECK(result.status == Status::no_route);
        CHECK(result.error != 0);
    }
}

TEST_CASE("buffers smaller than asked come with the remedy") {
    io::SocketOptions greedy;
    greedy.buffer_bytes = 1U << 30U;
    io::SocketOptions modest;
    modest.buffer_bytes = 64U << 10U;
    for (const Kind& kind : kinds()) {
        const auto large = kind.open(at("127.0.0.1"), greedy);
        REQUIRE(large);
        const std::string advice = (*large)->buffer_advice();
        // A privileged process gets the size it asks for; for others the advice names the setting that limits it.
        if (!advice.empty()) CHECK(advice.find("sysctl -w ") != std::string::npos);
        const auto small = kind.open(at("127.0.0.1"), modest);
        REQUIRE(small);
        CHECK((*small)->buffer_advice().empty());
    }
}

TEST_CASE("a port in use is named in the error") {
    for (const Kind& kind : kinds()) {
        const auto first = open(kind, "127.0.0.1");
        const auto second = kind.open(first->local_address(), {});
        REQUIRE_FALSE(second);
        CHECK(second.error().code == ErrorCode::network);
        CHECK(second.error().message.find(std::to_string(first->local_address().port)) != std::string::npos);
    }
}
