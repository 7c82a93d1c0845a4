// A relay over real sockets: it passes on the bytes of two ends, and survives what strangers send.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>

#include "rendezvous/mailbox.hpp"
#include "rendezvous/met_end.hpp"
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
    /// As the relay sees this socket.
    Address observed_with(const Token& token) {
        std::optional<BindAnswer> answer;
        for (int i = 0; i < 4 && !answer; ++i) {
            send(encode(Bind{token}));
            answer = parse_bind_answer(receive());
        }
        REQUIRE(answer);
        CHECK(answer->token == token);
        CHECK(answer->observed.port == socket_.local_endpoint().port());
        return answer->observed;
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

Bytes data_at(Mailbox& end) {
    auto arrival = end.receive(in_time());
    REQUIRE(arrival);
    REQUIRE(std::holds_alternative<Data>(*arrival));
    return std::get<Data>(*arrival).body;
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

TEST_CASE("bytes pass between two ends, beside sealed messages") {
    const auto relay = relay_with({});
    Pair pair = pair_at(relay->address());
    for (int i = 0; i < 20; ++i) {
        const Bytes bytes(i == 5 ? kMaxDataBytes : 100, static_cast<std::byte>(i));
        REQUIRE(pair.sender.send_data(bytes));
        CHECK(data_at(pair.receiver) == bytes);
        REQUIRE(pair.receiver.send_data(bytes));
        CHECK(data_at(pair.sender) == bytes);
        if (i == 10) {
            REQUIRE(pair.sender.send(bytes, in_time()));
            const auto arrival = pair.receiver.receive(in_time());
            REQUIRE(arrival);
            CHECK(std::get<Mailbox::Sealed>(*arrival).message == bytes);
        }
    }
}

TEST_CASE("a relay on all addresses serves IPv4, and shows it as such") {
    const auto relay = relay_with({}, "");
    const Address v4{Address::Family::v4, relay->address().port, {127, 0, 0, 1}};
    Pair pair = pair_at(v4);
    UdpEnd sender(v4.port);
    const Address observed = sender.observed_with(pair.sender.token());
    CHECK(observed.family == Address::Family::v4);
    CHECK(observed.ip[0] == 127);
}

TEST_CASE("an end that reads nothing holds up the other end, the relay keeps little, and others go on") {
    RelayBudget budget;
    budget.queue_bytes = 128U << 10U;
    const auto relay = relay_with(budget);
    Pair pair = pair_at(relay->address());
    Pair other = pair_at(relay->address());
    const Bytes large(kMaxDataBytes, std::byte{0xc1});
    std::size_t sent = 0;
    const auto fill = [&] {
        while (!pair.sender.link().wants_write() && sent < 200'000'000) {
            REQUIRE(pair.sender.send_data(large));
            sent += large.size();
        }
    };
    for (int quiet = 0; quiet < 20; ++quiet) {
        const std::size_t before = sent;
        fill();
        if (sent != before) quiet = 0;
        std::this_thread::sleep_for(5ms);
        REQUIRE(pair.sender.link().flush());
    }
    CHECK(sent < 40'000'000);  // the buffers of both kernels are most of it
    REQUIRE(other.sender.send_data(large));
    CHECK(data_at(other.receiver) == large);
    // When the end reads again, nothing was lost.
    std::size_t arrived = 0;
    while (arrived < sent) {
        const Bytes bytes = data_at(pair.receiver);
        REQUIRE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0xc1}; }));
        arrived += bytes.size();
        REQUIRE(pair.sender.link().flush());
    }
    CHECK(arrived == sent);
    CHECK(relay->stop().passed_bytes == sent + large.size());
}

TEST_CASE("when an end leaves, the relay takes what the other one still sends, so that this reads the reason") {
    const auto relay = relay_with({});
    Pair pair = pair_at(relay->address());
    const Bytes large(kMaxDataBytes, std::byte{0xc1});
    // Until the relay reads no more of it.
    for (int quiet = 0; quiet < 20; ++quiet) {
        for (; !pair.sender.link().wants_write(); quiet = 0) REQUIRE(pair.sender.send_data(large));
        std::this_thread::sleep_for(5ms);
        REQUIRE(pair.sender.link().flush());
    }
    pair.receiver.close();
    { const auto gone = std::move(pair.receiver); }
    const Instant deadline = monotonic_now() + 1500ms;
    while (pair.sender.link().wants_write() && monotonic_now() < deadline) {
        REQUIRE(pair.sender.link().flush());
        std::this_thread::sleep_for(5ms);
    }
    CHECK_FALSE(pair.sender.link().wants_write());
    const auto ended = pair.sender.receive(in_time());
    REQUIRE_FALSE(ended);
    CHECK(ended.error().message.find("the other end has left") != std::string::npos);
}

TEST_CASE("a pair that floods the relay does not stop another one") {
    RelayBudget budget;
    budget.total_rate = Rate::bytes_per_second(2'000'000);
    const auto relay = relay_with(budget);
    Pair flood = pair_at(relay->address());
    Pair pair = pair_at(relay->address());
    std::atomic<bool> over = false;
    const Instant start = monotonic_now();
    auto flooding = std::async([&] {
        const Bytes small(1, std::byte{0xc1});
        while (!over && monotonic_now() - start < 10s) {
            if (!flood.sender.link().wants_write() && !flood.sender.send_data(small)) return;
            if (!flood.sender.link().flush()) return;
            while (const auto taken = flood.receiver.poll_arrival()) {
                if (!taken->has_value()) break;
            }
        }
    });
    const Bytes bytes(10'000, std::byte{0xc1});
    for (int i = 0; i < 40; ++i) {
        REQUIRE(pair.sender.send_data(bytes));
        CHECK(data_at(pair.receiver) == bytes);
    }
    // Half of the rate would be 0.4 s.
    CHECK(to_seconds(monotonic_now() - start) < 2);
    over = true;
    flooding.get();
}

TEST_CASE("the rates of a relay hold, and nothing is lost") {
    RelayBudget budget;
    budget.pair_rate = Rate::bytes_per_second(1'000'000);
    const auto relay = relay_with(budget);
    Pair pair = pair_at(relay->address());
    const Instant start = monotonic_now();
    const Bytes bytes(10'000, std::byte{0xc1});
    for (int i = 0; i < 40; ++i) REQUIRE(pair.sender.send_data(bytes));
    for (std::size_t arrived = 0; arrived < 40 * bytes.size();) {
        REQUIRE(pair.sender.link().flush());
        arrived += data_at(pair.receiver).size();
    }
    // 65,536 bytes may come at once, and those of one read before the relay pauses.
    CHECK(to_seconds(monotonic_now() - start) >= (40 * 10'000 - 65'536 - 32'768) / 1e6);
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
    REQUIRE(nonsense->send(Left{1}, in_time()));
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
    const auto refused = Mailbox::join({relay->address()}, {.number = 1, .words = {}}, in_time());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "the relay ended the session: your address tries too often: try again later");
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

TEST_CASE("the addresses of the other end are read as they are written, and nothing else is looked up") {
    const Address v4{Address::Family::v4, 7000, {192, 0, 2, 1}};
    const Address v6{Address::Family::v6, 7001, {0x20, 1, 0xd, 0xb8}};
    const EndAddresses told{.seen = v4, .own = {v6, v4}};
    const auto read = EndAddresses::parse(told.to_text());
    CHECK(read.seen == told.seen);
    CHECK(read.own == told.own);
    CHECK(EndAddresses::parse("later 1\nseen 192.0.2.1:7000\nown").seen == v4);
    for (const std::string text :
         {"1:7000", "192.0.2:7000", "0300.0.2.1:7000", "c0000201:7000", "cafe.de:7000", "192.0.2.1", "192.0.2.1:0",
          ":7000", "", " 192.0.2.1:7000", "[2001:db8::1", "2001:db8::1"}) {
        INFO(text);
        const auto none = EndAddresses::parse(std::string("seen ").append(text).append("\nown ").append(text));
        CHECK_FALSE(none.seen);
        CHECK(none.own.empty());
    }
    std::string many;
    for (int i = 0; i < 100; ++i) many += "own 192.0.2." + std::to_string(i) + ":7000\n";
    CHECK(EndAddresses::parse(many).own.size() == 8);
    CHECK(told.to_try(std::vector{v6}) == std::vector{v4});
}
