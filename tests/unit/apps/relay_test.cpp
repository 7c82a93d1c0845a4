// A relay over real sockets: it forwards datagrams between ends with and without UDP, and survives what strangers send.
#include <csignal>
#include <future>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>

#include "rendezvous/binding.hpp"
#include "rendezvous/mailbox.hpp"
#include "rendezvous/relay.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using Bytes = std::vector<std::byte>;

Patience in_time(Duration time = 10s) { return {monotonic_now() + time, -1}; }

std::unique_ptr<Relay> relay_with(const RelayBudget& budget, const std::string& host = "127.0.0.1") {
    std::signal(SIGPIPE, SIG_IGN);
    auto relay = Relay::start({.listen = {.host = host, .port = 0}, .budget = budget, .report = {}});
    REQUIRE(relay);
    return std::move(*relay);
}

Bytes udtx_packet(const std::string& text) {
    Bytes bytes = test::from_text(text);
    bytes.insert(bytes.begin(), std::byte{0x40});
    return bytes;
}

/// A UDP socket of an end.
class UdpEnd {
  public:
    explicit UdpEnd(std::uint16_t relay_port) : relay_(asio::ip::address_v4::loopback(), relay_port) {
        socket_.open(asio::ip::udp::v4());
        socket_.bind({asio::ip::address_v4::loopback(), 0});
        socket_.non_blocking(true);
    }
    void send(std::span<const std::byte> datagram) {
        socket_.send_to(asio::buffer(datagram.data(), datagram.size()), relay_);
    }
    /// Empty: nothing has come.
    Bytes receive(Duration time = 5s) {
        const Instant deadline = monotonic_now() + time;
        Bytes bytes(65536);
        while (monotonic_now() < deadline) {
            boost::system::error_code error;
            asio::ip::udp::endpoint from;
            const std::size_t size = socket_.receive_from(asio::buffer(bytes), from, 0, error);
            if (!error) {
                bytes.resize(size);
                return bytes;
            }
            std::this_thread::sleep_for(1ms);
        }
        return {};
    }
    Address bind(const Token& token) {
        Binding binding(token);
        for (int i = 0; i < 4 && !binding.observed(); ++i) {
            send(binding.request());
            CHECK(binding.on_datagram(receive()) != Binding::Answer::foreign);
        }
        REQUIRE(binding.observed());
        CHECK(binding.observed()->port == socket_.local_endpoint().port());
        return *binding.observed();
    }

  private:
    asio::io_context context_;
    asio::ip::udp::socket socket_{context_};
    asio::ip::udp::endpoint relay_;
};

struct Pair {
    Mailbox sender;
    Mailbox receiver;
};

Pair pair_at(const Address& relay) {
    SystemRng random;
    auto sender = Mailbox::claim({relay}, random, in_time());
    REQUIRE(sender);
    auto meeting = std::async([&] { return sender->meet([] { return Bytes{}; }, in_time()); });
    auto receiver = Mailbox::join({relay}, sender->code(), in_time());
    REQUIRE(receiver);
    REQUIRE(receiver->meet([] { return Bytes{}; }, in_time()));
    REQUIRE(meeting.get());
    return {std::move(*sender), std::move(*receiver)};
}

Bytes datagram_at(Mailbox& end) {
    auto arrival = end.receive(in_time());
    REQUIRE(arrival);
    REQUIRE(std::holds_alternative<Datagram>(*arrival));
    return std::get<Datagram>(*arrival).body;
}

/// BOUND comes over TLS, the answer to BIND by UDP.
void take_bound(Mailbox& end, const Address& address) {
    for (int i = 0; i < 1000 && end.bound() != address; ++i) {
        REQUIRE(end.poll_arrival());
        std::this_thread::sleep_for(5ms);
    }
    CHECK(end.bound() == address);
}

/// A TCP connection that is not an end's.
class Stranger {
  public:
    explicit Stranger(std::uint16_t port) {
        boost::system::error_code error;
        socket_.connect({asio::ip::address_v4::loopback(), port}, error);
        CHECK_FALSE(error);
    }
    void send(const std::string& text) {
        boost::system::error_code ignored;
        socket_.send(asio::buffer(text), 0, ignored);
    }
    /// True if the relay closes the connection in time.
    bool is_closed(Duration time) {
        const Instant deadline = monotonic_now() + time;
        socket_.non_blocking(true);
        std::array<char, 4096> ignored{};
        while (monotonic_now() < deadline) {
            boost::system::error_code error;
            socket_.receive(asio::buffer(ignored), 0, error);
            if (error && error != asio::error::would_block) return true;
            std::this_thread::sleep_for(5ms);
        }
        return false;
    }

  private:
    asio::io_context context_;
    asio::ip::tcp::socket socket_{context_};
};

}  // namespace

TEST_CASE("datagrams pass between two ends with UDP") {
    const auto relay = relay_with({});
    Pair pair = pair_at(relay->address());
    UdpEnd sender(relay->address().port);
    UdpEnd receiver(relay->address().port);
    take_bound(pair.sender, sender.bind(pair.sender.token()));
    take_bound(pair.receiver, receiver.bind(pair.receiver.token()));
    const Bytes large(1452, std::byte{0xc1});
    for (const Bytes& packet : {udtx_packet("x"), large}) {
        sender.send(packet);
        CHECK(receiver.receive() == packet);
        receiver.send(packet);
        CHECK(sender.receive() == packet);
    }
    // A NAT gives the sender another port.
    UdpEnd moved(relay->address().port);
    take_bound(pair.sender, moved.bind(pair.sender.token()));
    receiver.send(large);
    CHECK(moved.receive() == large);
    CHECK(sender.receive(50ms).empty());
    const RelayCounters counters = relay->stop();
    CHECK(counters.forwarded_datagrams == 5);
    CHECK(counters.dropped_datagrams == 0);
}

TEST_CASE("datagrams pass between an end with UDP and one without") {
    const auto relay = relay_with({});
    Pair pair = pair_at(relay->address());
    UdpEnd sender(relay->address().port);
    sender.bind(pair.sender.token());
    const Bytes large(65'000, std::byte{0xc1});
    for (const Bytes& packet : {udtx_packet("x"), large}) {
        sender.send(packet);
        CHECK(datagram_at(pair.receiver) == packet);
        REQUIRE(pair.receiver.send_datagram(packet));
        CHECK(sender.receive() == packet);
    }
}

TEST_CASE("datagrams pass between two ends without UDP, beside sealed messages") {
    const auto relay = relay_with({});
    Pair pair = pair_at(relay->address());
    for (int i = 0; i < 20; ++i) {
        const Bytes packet = udtx_packet(std::to_string(i));
        REQUIRE(pair.sender.send_datagram(packet));
        CHECK(datagram_at(pair.receiver) == packet);
        REQUIRE(pair.receiver.send_datagram(packet));
        CHECK(datagram_at(pair.sender) == packet);
        if (i == 10) {
            REQUIRE(pair.sender.send(packet, in_time()));
            const auto arrival = pair.receiver.receive(in_time());
            REQUIRE(arrival);
            CHECK(std::get<Mailbox::Sealed>(*arrival).message == packet);
        }
    }
}

TEST_CASE("a relay on all addresses serves IPv4, and shows it as such") {
    const auto relay = relay_with({}, "");
    const Address v4{Address::Family::v4, relay->address().port, {127, 0, 0, 1}};
    Pair pair = pair_at(v4);
    UdpEnd sender(v4.port);
    const Address observed = sender.bind(pair.sender.token());
    CHECK(observed.family == Address::Family::v4);
    CHECK(observed.ip[0] == 127);
    REQUIRE(pair.receiver.send_datagram(udtx_packet("x")));
    CHECK(sender.receive() == udtx_packet("x"));
}

TEST_CASE("an end that reads nothing loses datagrams, the relay keeps little, and others go on") {
    RelayBudget budget;
    budget.queue_bytes = 128U << 10U;
    const auto relay = relay_with(budget);
    Pair pair = pair_at(relay->address());
    Pair other = pair_at(relay->address());
    UdpEnd sender(relay->address().port);
    sender.bind(pair.sender.token());
    const Bytes large(60'000, std::byte{0xc1});
    for (int i = 0; i < 2000; ++i) {
        sender.send(large);
        if (i % 20 == 0) std::this_thread::sleep_for(1ms);
    }
    REQUIRE(other.sender.send_datagram(udtx_packet("x")));
    CHECK(datagram_at(other.receiver) == udtx_packet("x"));
    const RelayCounters counters = relay->stop();
    CHECK(counters.dropped_datagrams > 0);
    CHECK(counters.forwarded_bytes < 40'000'000);  // the buffers of both kernels are most of it
}

TEST_CASE("the rates of a relay hold") {
    RelayBudget budget;
    budget.pair_rate = Rate::bytes_per_second(200'000);
    const auto relay = relay_with(budget);
    Pair pair = pair_at(relay->address());
    UdpEnd sender(relay->address().port);
    UdpEnd receiver(relay->address().port);
    sender.bind(pair.sender.token());
    receiver.bind(pair.receiver.token());
    const Instant start = monotonic_now();
    const Bytes packet(1000, std::byte{0xc1});
    while (monotonic_now() - start < 500ms) {
        for (int i = 0; i < 10; ++i) sender.send(packet);
        std::this_thread::sleep_for(1ms);
    }
    const double seconds = to_seconds(monotonic_now() - start);
    const RelayCounters counters = relay->stop();
    CHECK(static_cast<double>(counters.forwarded_bytes) <= 200'000 * (seconds + 0.1) + 65'536);
    CHECK(counters.dropped_datagrams > 0);
}

TEST_CASE("garbage, silence and floods of connections do not stop the relay") {
    RelayBudget budget;
    budget.guest_time = 300ms;
    budget.guests_of_address = 8;
    const auto relay = relay_with(budget);
    const std::uint16_t port = relay->address().port;
    UdpEnd udp(port);
    SystemRng random;
    for (int i = 0; i < 300; ++i) {
        Bytes garbage(1 + static_cast<std::size_t>(random.next_u64() % 200));
        random.fill(garbage);
        udp.send(garbage);
    }
    CHECK(udp.receive(50ms).empty());
    Stranger http(port);
    http.send("GET / HTTP/1.1\r\n\r\n");
    CHECK(http.is_closed(5s));
    {
        std::vector<std::unique_ptr<Stranger>> silent;
        for (int i = 0; i < 8; ++i) silent.push_back(std::make_unique<Stranger>(port));
        Stranger one_too_many(port);
        CHECK(one_too_many.is_closed(200ms));
        CHECK(silent.front()->is_closed(5s));
    }
    // An end that greets and then says nothing, or nonsense.
    auto link = RelayLink::connect({relay->address()}, in_time());
    REQUIRE(link);
    const auto silence = link->receive(in_time());
    REQUIRE(silence);
    CHECK(std::get<Close>(*silence).code == CloseReasonCode::expired);
    auto nonsense = RelayLink::connect({relay->address()}, in_time());
    REQUIRE(nonsense);
    REQUIRE(nonsense->send(Bound{relay->address()}, in_time()));
    const auto answer = nonsense->receive(in_time());
    REQUIRE(answer);
    CHECK(std::get<Close>(*answer).code == CloseReasonCode::violation);
    pair_at(relay->address());
}

TEST_CASE("numbers cannot be scanned") {
    RelayBudget budget;
    budget.joins_of_address = 5;
    const auto relay = relay_with(budget);
    std::size_t busy = 0;
    for (std::uint32_t number = 1; number <= 10; ++number) {
        auto link = RelayLink::connect({relay->address()}, in_time());
        REQUIRE(link);
        REQUIRE(link->send(Join{1, number}, in_time()));
        const auto answer = link->receive(in_time());
        REQUIRE(answer);
        if (std::get<Close>(*answer).code == CloseReasonCode::busy) ++busy;
    }
    CHECK(busy == 5);
}

TEST_CASE("a relay that stops tells its ends") {
    auto relay = relay_with({});
    Pair pair = pair_at(relay->address());
    CHECK(relay->stop().pairs == 1);
    const auto ended = pair.sender.receive(in_time());
    REQUIRE_FALSE(ended);
    CHECK(ended.error().message.find("the relay is being stopped") != std::string::npos);
    const Address address = relay->address();
    relay.reset();
    // The port is free again.
    auto next = Relay::start({.listen = {.host = "127.0.0.1", .port = address.port}, .budget = {}, .report = {}});
    CHECK(next);
    const auto in_use =
        Relay::start({.listen = {.host = "127.0.0.1", .port = address.port}, .budget = {}, .report = {}});
    REQUIRE_FALSE(in_use);
    CHECK(in_use.error().code == ErrorCode::network);
}
