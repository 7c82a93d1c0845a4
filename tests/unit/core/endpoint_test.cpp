// Two endpoints over two queues in virtual time, using only the installed headers of the core.
#include "udtx/core/endpoint.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "plain_crypto.hpp"
#include "test/catch.hpp"
#include "udtx/core/datagram.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::proto;

namespace {

constexpr Duration kDelay = 10ms;

class Numbers final : public Rng {
  public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    void fill(std::span<std::byte> out) override {
        for (std::byte& b : out) {
            state_ = state_ * 6364136223846793005U + 1442695040888963407U;
            b = static_cast<std::byte>(state_ >> 56U);
        }
    }

  private:
    std::uint64_t state_;
};

Address address(std::uint8_t last) {
    Address a;
    a.family = Address::Family::v4;
    a.ip = {10, 0, 0, last};
    a.port = 7000;
    return a;
}

std::vector<std::byte> some_bytes(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * i % 251);
    return bytes;
}

/// Stores the bytes of an unordered stream by their offsets.
struct Sink final : PieceSink {
    void on_piece(StreamId /*id*/, std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (got.size() < offset + bytes.size()) got.resize(offset + bytes.size());
        std::ranges::copy(bytes, got.begin() + static_cast<std::ptrdiff_t>(offset));
        fresh += bytes.size();
    }
    std::vector<std::byte> got;
    std::uint64_t fresh = 0;
};

struct Packet {
    Instant at;
    std::vector<std::byte> bytes;
};

/// One endpoint, the packets on their way to it, and an application: a client sends `bytes` on one stream, a server
/// reads what arrives.
class Host {
  public:
    Host(std::uint8_t last, const TransportConfig& config, std::size_t packet_threads)
        : address_(address(last)),
          rng_(last),
          packet_threads_(packet_threads),
          endpoint_(
              {.provider = &provider_, .handshakes = &handshakes_, .rng = &rng_, .packet_threads = packet_threads},
              config) {}

    void turn(Instant now, Host& peer) {
        while (!on_way_.empty() && on_way_.front().at <= now) {
            RxDatagram datagram{.local = address_,
                                .remote = peer.address_,
                                .data = on_way_.front().bytes,
                                .received = on_way_.front().at};
            if (const auto opening = endpoint_.opening_of(datagram.data))
                open_packet(*opening, datagram, packet_threads_);
            endpoint_.handle_datagram(now, datagram);
            on_way_.pop_front();
        }
        if (const auto due = endpoint_.poll_timeout(); due && *due <= now) endpoint_.handle_timeout(now);
        bool any = true;
        while (any) {
            any = false;
            while (const auto touched = endpoint_.poll_touched()) {
                while (const auto event = touched->poll_event()) on_event(now, *touched, *event);
                any = true;
            }
            while (const auto accepted = endpoint_.accept()) {
                accepted->set_piece_sink(&sink);
                while (const auto event = accepted->poll_event()) on_event(now, *accepted, *event);
                any = true;
            }
            while (const auto t = endpoint_.poll_transmit(now, 16, buffer_)) {
                const auto batch = std::span(buffer_).first(t->size);
                if (t->key) seal_batch(*t, batch, packet_threads_);
                any = true;
                if (t->segment > line.passes) {
                    if (line.says_so) endpoint_.on_datagram_too_large(now, *t);
                    continue;
                }
                for (std::size_t at = 0; at < t->size; at += t->segment) {
                    const auto one = batch.subspan(at, std::min(t->segment, t->size - at));
                    peer.on_way_.push_back({now + kDelay, {one.begin(), one.end()}});
                }
            }
        }
    }
    [[nodiscard]] Instant next(Instant otherwise) const {
        const Instant due = endpoint_.poll_timeout().value_or(otherwise);
        return std::min(due, on_way_.empty() ? otherwise : on_way_.front().at);
    }
    [[nodiscard]] Endpoint& endpoint() { return endpoint_; }

    /// The way to the peer.
    struct Line {
        std::size_t passes = 65535;  ///< larger datagrams are dropped
        bool says_so = false;        ///< as an interface does that refuses them
    } line;
    std::vector<std::byte> bytes;  ///< client: the data to send
    StreamKind kind = StreamKind::ordered;
    std::vector<std::byte> taken;  ///< server: the data of an ordered stream
    Sink sink;
    Duration stands_still{};  ///< client: time for which its thread gets no turn after close()
    std::optional<CloseReason> closed;

  private:
    void on_event(Instant now, Connection& connection, const Event& event) {
        if (const auto* opened = std::get_if<event::StreamOpened>(&event)) stream_ = opened->id;
        if (std::holds_alternative<event::Connected>(event) && connection.role() == Role::client) {
            stream_ = connection.open_stream(kind).value();
            send(connection);
        } else if (std::holds_alternative<event::Writable>(event)) {
            send(connection);
        } else if (const auto* readable = std::get_if<event::Readable>(&event)) {
            std::array<std::byte, 4096> part{};
            for (auto got = connection.read(readable->id, part); got.bytes > 0;
                 got = connection.read(readable->id, part)) {
                taken.insert(taken.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got.bytes));
            }
        } else if (std::holds_alternative<event::StreamDelivered>(event)) {
            if (connection.role() != Role::client) return;
            connection.close(now, 0, "done");
            if (stands_still > Duration::zero()) endpoint_.handle_timeout(now + stands_still);
        } else if (const auto* end = std::get_if<event::Closed>(&event)) {
            closed = end->reason;
            connection.set_piece_sink(nullptr);
        }
        if (sink.fresh > 0 && connection.connected()) connection.release_pieces(stream_, std::exchange(sink.fresh, 0));
    }
    void send(Connection& connection) {
        while (sent_ < bytes.size()) {
            const auto most = std::min<std::uint64_t>(connection.write_capacity(stream_), bytes.size() - sent_);
            if (most == 0) return;
            REQUIRE(connection.write(stream_, Chunk::copy_of(std::span(bytes).subspan(sent_, most))).ok());
            sent_ += most;
        }
        if (!std::exchange(finished_, true)) REQUIRE(connection.finish(stream_).ok());
    }

    Address address_;
    Numbers rng_;
    std::size_t packet_threads_;
    plain::Provider provider_;
    plain::HandshakeFactory handshakes_;
    Endpoint endpoint_;
    std::deque<Packet> on_way_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(65000);
    StreamId stream_;
    std::size_t sent_ = 0;
    bool finished_ = false;
};

struct Pair {
    explicit Pair(const TransportConfig& config = {}, std::size_t packet_threads = 0)
        : client(1, config, packet_threads), server(2, config, packet_threads) {
        server.endpoint().listen(4);
    }
    /// Runs until both ends are closed. The client's process does not run from `stop` to `go_on`.
    void run(Instant stop = {}, Instant go_on = {}) {
        Instant now(1s);
        const Instant last = now + 120s;
        const auto connection = client.endpoint().connect(now, address(2));
        while (now < last && !(client.closed && server.closed)) {
            const bool stopped = now >= stop && now < go_on;
            if (!stopped) client.turn(now, server);
            if (!server.closed) server.turn(now, client);
            ended = now;
            const Instant client_next = stopped ? go_on : client.next(last);
            const Instant server_next = server.closed ? last : server.next(last);
            now = std::max(now + 1us, std::min(client_next, server_next));
        }
        REQUIRE(client.closed);
        REQUIRE(server.closed);
        stats = connection->stats();
    }
    Host client;
    Host server;
    ConnectionStats stats;
    Instant ended;
};

}  // namespace

TEST_CASE("two endpoints exchange an ordered stream") {
    Pair pair;
    pair.client.bytes = some_bytes(300'000);
    pair.run();
    CHECK(pair.client.closed->orderly());
    CHECK(pair.server.closed->by_peer);
    CHECK(pair.server.taken == pair.client.bytes);
    CHECK(pair.stats.paths.at(0).min_rtt >= 2 * kDelay);
}

TEST_CASE("an end that gets no turn after close() tells the peer nevertheless") {
    Pair pair;
    pair.client.bytes = some_bytes(3000);
    pair.client.stands_still = 10s;
    pair.run();
    CHECK(pair.client.closed->orderly());
    CHECK(pair.server.closed->orderly());
    CHECK(pair.server.closed->by_peer);
}

TEST_CASE("two endpoints exchange an unordered stream, with a packet thread's help") {
    Pair pair({}, 1);
    pair.client.bytes = some_bytes(300'000);
    pair.client.kind = StreamKind::unordered;
    pair.run();
    CHECK(pair.client.closed->orderly());
    CHECK(pair.server.sink.got == pair.client.bytes);
}

TEST_CASE("a path that carries only 548 bytes is used, whether the interface refuses more or the path drops it") {
    for (const std::size_t passes : {548U, 1191U}) {
        for (const bool says_so : {true, false}) {
            for (const bool both_ways : {true, false}) {
                CAPTURE(passes, says_so, both_ways);
                Pair pair;
                pair.client.line = {passes, says_so};
                if (both_ways) pair.server.line = {passes, says_so};
                pair.client.bytes = some_bytes(6'000'000);
                pair.run();
                CHECK(pair.client.closed->orderly());
                CHECK(pair.server.taken == pair.client.bytes);
                CHECK(pair.stats.paths.at(0).datagram_bytes <= passes);
                CHECK(pair.stats.paths.at(0).datagram_bytes > passes - 16);
            }
        }
    }
}

TEST_CASE("only the way back is narrow") {
    for (const bool says_so : {true, false}) {
        CAPTURE(says_so);
        Pair pair;
        pair.server.line = {600, says_so};
        pair.client.bytes = some_bytes(100'000);
        pair.run();
        CHECK(pair.client.closed->orderly());
        CHECK(pair.server.taken == pair.client.bytes);
    }
}

TEST_CASE("an interface that refuses even 548 bytes is named at once") {
    Pair pair;
    pair.client.line = {500, true};
    Instant now(1s);
    const auto connection = pair.client.endpoint().connect(now, address(2));
    pair.client.turn(now, pair.server);
    REQUIRE(pair.client.closed);
    CHECK(pair.client.closed->code == ErrorCode::no_route);
    CHECK(pair.client.closed->message.find("no packets of 576 bytes (raise its MTU)") != std::string::npos);
}

TEST_CASE("a process that was stopped for longer than the idle timeout notices soon that its peer gave up") {
    // Packets that arrived meanwhile wait. They must not count as signs of life.
    TransportConfig config;
    config.idle_timeout = 30s;
    Pair pair(config);
    pair.client.bytes = some_bytes(20'000'000);
    pair.run(Instant(1100ms), Instant(91s));
    CHECK(pair.client.closed->code == ErrorCode::timeout);
    INFO(pair.client.closed->message);
    CHECK(pair.ended - Instant(91s) < 2s);
}

TEST_CASE("a process that was stopped for less than the idle timeout goes on") {
    TransportConfig config;
    config.idle_timeout = 30s;
    Pair pair(config);
    pair.client.bytes = some_bytes(1'000'000);
    pair.run(Instant(1100ms), Instant(20s));
    CHECK(pair.client.closed->orderly());
    CHECK(pair.server.taken == pair.client.bytes);
}

TEST_CASE("a configuration is checked by what is public, too") {
    TransportConfig config;
    CHECK(check(config).ok());
    config.max_paths = 0;
    CHECK(check(config).error().message.find("max_paths") != std::string::npos);
}
