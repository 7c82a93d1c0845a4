#include "proto/stream_table.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "test/catch.hpp"
#include "wire/frame.hpp"

using namespace udtx;
using proto::StreamTable;
using recovery::SentPacket;

namespace {

/// Two tables joined without a network: each reads what the other fills.
struct Pair {
    TransportConfig config;
    std::deque<proto::Event> client_events;
    std::deque<proto::Event> server_events;
    StreamTable client;
    StreamTable server;

    explicit Pair(TransportConfig c)
        : config(std::move(c)),
          client(Role::client, config, client_events),
          server(Role::server, config, server_events) {
        const auto parameters = proto::TransportParameters::from(config, 0, 0);
        client.set_peer_limits(parameters);
        server.set_peer_limits(parameters);
    }
};

/// Fills one packet; it has no ranges if there was nothing to send.
SentPacket fill(StreamTable& from, std::vector<std::byte>& bytes, std::size_t room = 1200) {
    bytes.assign(room, std::byte{0});
    wire::Writer w(bytes);
    SentPacket packet;
    from.fill(w, packet);
    bytes.resize(w.size());
    return packet;
}

Result<void> deliver(StreamTable& to, const std::vector<std::byte>& bytes) {
    wire::Reader in(bytes);
    wire::AckFrame scratch;
    while (!in.empty()) {
        const auto frame = wire::read_frame(in, scratch);
        if (!frame) return frame.error();
        Result<void> ok;
        if (const auto* s = std::get_if<wire::StreamFrame>(&*frame)) ok = to.on_stream(*s);
        if (const auto* m = std::get_if<wire::MaxDataFrame>(&*frame)) to.on_max_data(m->limit);
        if (const auto* m = std::get_if<wire::MaxStreamDataFrame>(&*frame)) ok = to.on_max_stream_data(*m);
        if (const auto* m = std::get_if<wire::MaxStreamsFrame>(&*frame)) to.on_max_streams(m->limit);
        if (const auto* r = std::get_if<wire::ResetStreamFrame>(&*frame)) ok = to.on_reset(*r);
        if (const auto* s = std::get_if<wire::StopSendingFrame>(&*frame)) ok = to.on_stop(*s);
        if (!ok) return ok;
    }
    return {};
}

/// Exchanges packets until neither end has anything to send.
void settle(Pair& p) {
    std::vector<std::byte> bytes;
    for (int guard = 0; (p.client.pending() || p.server.pending()) && guard < 100000; ++guard) {
        for (auto* from : {&p.client, &p.server}) {
            if (!from->pending()) continue;
            const SentPacket packet = fill(*from, bytes);
            REQUIRE(deliver(from == &p.client ? p.server : p.client, bytes));
            from->on_acked(packet);
        }
    }
}

template <class E>
int count(const std::deque<proto::Event>& events) {
    int n = 0;
    for (const auto& e : events) n += std::holds_alternative<E>(e) ? 1 : 0;
    return n;
}

}  // namespace

TEST_CASE("a stream may carry far more than its window as the reader reads") {
    TransportConfig config;
    config.stream_window = 10000;
    config.connection_window = 15000;
    Pair p(config);
    const StreamId id = *p.client.open(StreamKind::ordered);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(200000, std::byte{9}))));
    REQUIRE(p.client.finish(id));
    std::size_t got = 0;
    bool end = false;
    std::vector<std::byte> out(4000);
    for (int guard = 0; !end && guard < 1000; ++guard) {
        settle(p);
        const auto r = p.server.read(id, out);
        got += r.bytes;
        end = r.end;
    }
    CHECK(got == 200000);
    CHECK(p.server.counters().bytes_received == 200000);
    CHECK(count<proto::event::StreamDelivered>(p.client_events) == 1);
}

TEST_CASE("outstanding are bytes that are not acknowledged with all before them") {
    TransportConfig config;
    Pair p(config);
    const StreamId id = *p.client.open(StreamKind::ordered);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(3000, std::byte{9}))));
    CHECK(p.client.outstanding() == 0);
    std::vector<std::byte> bytes;
    std::vector<SentPacket> packets;
    while (p.client.data_pending()) packets.push_back(fill(p.client, bytes));
    REQUIRE(packets.size() > 1);
    CHECK(p.client.outstanding() == 3000);
    p.client.on_acked(packets.back());
    CHECK(p.client.outstanding() == 3000);
    packets.pop_back();
    p.client.on_acked(packets.front());
    CHECK(p.client.outstanding() < 3000);
    for (const SentPacket& packet : packets) p.client.on_acked(packet);
    CHECK(p.client.outstanding() == 0);
}

TEST_CASE("a reader that does not read stops the writer at the window") {
    TransportConfig config;
    config.stream_window = 10000;
    Pair p(config);
    const StreamId id = *p.client.open(StreamKind::ordered);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(50000, std::byte{9}))));
    settle(p);
    CHECK(p.client.counters().bytes_sent == 10000);
    CHECK_FALSE(p.client.data_pending());
}

TEST_CASE("streams finished on both ends make room for new ones") {
    TransportConfig config;
    config.max_streams = 4;
    Pair p(config);
    std::vector<std::byte> out(100);
    for (int i = 0; i < 50; ++i) {
        const auto id = p.client.open(StreamKind::ordered);
        INFO("stream " << i);
        REQUIRE(id);
        REQUIRE(p.client.write(*id, Chunk::copy_of(std::vector<std::byte>(10))));
        REQUIRE(p.client.finish(*id));
        settle(p);
        REQUIRE(p.server.read(*id, out).end);
        REQUIRE(p.server.finish(*id));
        settle(p);
        REQUIRE(p.client.read(*id, out).end);
        settle(p);
    }
    for (int i = 0; i < 4; ++i) REQUIRE(p.client.open(StreamKind::ordered));
    CHECK(p.client.open(StreamKind::ordered).error().code == ErrorCode::refused);
}

TEST_CASE("a peer that opens too many streams, or sends where it must not, is refused") {
    TransportConfig config;
    config.max_streams = 4;
    Pair p(config);
    const std::array<std::byte, 1> one{};
    const auto at = [&](std::uint64_t index, StreamKind kind, Role opener) {
        return p.server.on_stream({StreamId::make(index, kind, opener), 0, one, false});
    };
    CHECK(at(3, StreamKind::ordered, Role::client));
    CHECK_FALSE(at(4, StreamKind::ordered, Role::client));
    CHECK_FALSE(at(0, StreamKind::ordered, Role::server));
    const StreamId unordered = *p.server.open(StreamKind::unordered);
    CHECK_FALSE(p.server.on_stream({unordered, 0, one, false}));
    CHECK_FALSE(p.server.on_max_stream_data({StreamId::make(2, StreamKind::unordered, Role::client), 10}));
    CHECK_FALSE(p.server.on_stream({StreamId::make(3, StreamKind::ordered, Role::client), 1ULL << 40U, one, false}));
}

TEST_CASE("a peer that sends beyond the connection's window is refused, over one stream or several") {
    TransportConfig config;
    config.connection_window = 1000;
    Pair p(config);
    const std::vector<std::byte> bytes(600);
    const auto send = [&](std::uint64_t stream, std::uint64_t offset) {
        return p.server.on_stream({StreamId::make(stream, StreamKind::ordered, Role::client), offset, bytes, false});
    };
    SECTION("one") {
        CHECK(send(0, 400));
        CHECK_FALSE(send(0, 401));
    }
    SECTION("several") {
        CHECK(send(0, 0));
        CHECK_FALSE(send(1, 0));
    }
}

TEST_CASE("frames of a stream that is over are ignored") {
    Pair p(TransportConfig{});
    const StreamId id = *p.client.open(StreamKind::unordered);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(100))));
    REQUIRE(p.client.finish(id));
    std::vector<std::byte> bytes;
    fill(p.client, bytes);
    REQUIRE(deliver(p.server, bytes));
    CHECK(count<proto::event::StreamReceived>(p.server_events) == 1);
    p.server.release(id, 100);
    REQUIRE(deliver(p.server, bytes));  // a late duplicate is ignored
    CHECK(count<proto::event::StreamOpened>(p.server_events) == 1);
    CHECK(count<proto::event::StreamReceived>(p.server_events) == 1);
}

TEST_CASE("a stopped stream is reset by its sender") {
    Pair p(TransportConfig{});
    const StreamId id = *p.client.open(StreamKind::ordered);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(100))));
    settle(p);
    p.server.stop(id, 7);
    settle(p);
    CHECK(count<proto::event::StreamStopped>(p.client_events) == 1);
    CHECK(count<proto::event::StreamReset>(p.server_events) == 1);
    CHECK_FALSE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(1))));
}

namespace {

/// Opens a stream of the client that is written and finished at once.
StreamId open_whole(StreamTable& client, std::size_t bytes) {
    const StreamId id = *client.open(StreamKind::unordered);
    REQUIRE(client.write(id, Chunk::copy_of(std::vector<std::byte>(bytes))));
    REQUIRE(client.finish(id));
    return id;
}

}  // namespace

TEST_CASE("a stream that is stopped after its end has come leaves room for another") {
    TransportConfig config;
    config.max_streams = 2;
    Pair p(config);
    for (int i = 0; i < 10; ++i) {
        const StreamId id = open_whole(p.client, 100);
        std::vector<std::byte> bytes;
        const SentPacket packet = fill(p.client, bytes);
        REQUIRE(deliver(p.server, bytes));
        p.server.stop(id, 7);
        p.client.on_acked(packet);  // now the client has forgotten the stream
        settle(p);
    }
    CHECK(count<proto::event::StreamReset>(p.server_events) == 0);
}

TEST_CASE("a stream stopped before all has come: the sender is told, and a needless repeat does not keep it") {
    TransportConfig config;
    config.max_streams = 1;
    Pair p(config);
    for (int i = 1; i <= 4; ++i) {
        const StreamId id = open_whole(p.client, 2000);
        std::vector<std::byte> never_comes;
        std::vector<std::byte> bytes;
        const SentPacket middle = fill(p.client, never_comes);
        const SentPacket end = fill(p.client, bytes);
        REQUIRE(deliver(p.server, bytes));
        p.server.stop(id, 7);
        const SentPacket stop = fill(p.server, bytes);
        REQUIRE(deliver(p.client, bytes));
        p.server.on_lost(stop);  // a spurious loss
        p.client.on_acked(end);
        p.client.on_lost(middle);
        settle(p);
        CHECK(count<proto::event::StreamStopped>(p.client_events) == i);
    }
}

TEST_CASE("ordered streams go before unordered ones, and lost credit is told again") {
    TransportConfig config;
    config.stream_window = 4000;
    Pair p(config);
    const StreamId unordered = *p.client.open(StreamKind::unordered);
    const StreamId ordered = *p.client.open(StreamKind::ordered);
    REQUIRE(p.client.write(unordered, Chunk::copy_of(std::vector<std::byte>(3000))));
    REQUIRE(p.client.write(ordered, Chunk::copy_of(std::vector<std::byte>(100))));
    std::vector<std::byte> bytes;
    const SentPacket first = fill(p.client, bytes);
    REQUIRE(first.range_count == 2);
    CHECK(first.ranges[0].stream == ordered);
    CHECK(first.ranges[1].stream == unordered);
    REQUIRE(deliver(p.server, bytes));
    p.server.release(unordered, 1000);
    REQUIRE(p.server.pending());
    const SentPacket credit = fill(p.server, bytes);
    CHECK(has(credit.control, recovery::Control::max_stream_data));
    CHECK_FALSE(p.server.pending());
    p.server.on_lost(credit);
    CHECK(p.server.pending());
}

TEST_CASE("pieces that come before the sink is set are kept for it") {
    struct Sink : proto::PieceSink {
        std::uint64_t bytes = 0;
        void on_piece(StreamId, std::uint64_t offset, std::span<const std::byte> piece) override {
            CHECK(offset == bytes);
            bytes += piece.size();
        }
    } sink;
    Pair p(TransportConfig{});
    const StreamId id = *p.client.open(StreamKind::unordered);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(5000))));
    settle(p);
    p.server.set_sink(&sink);
    CHECK(sink.bytes == 5000);
    REQUIRE(p.client.write(id, Chunk::copy_of(std::vector<std::byte>(1000))));
    settle(p);
    CHECK(sink.bytes == 6000);
}

TEST_CASE("small pieces before the sink are bounded by the memory they take, not by their bytes alone") {
    TransportConfig config;
    config.connection_window = config.stream_window = 1U << 20U;
    Pair p(config);
    const StreamId id = *p.client.open(StreamKind::unordered);
    const std::array<std::byte, 1> one{};
    Result<void> taken;
    std::uint64_t pieces = 0;
    for (std::uint64_t at = 0; taken && at < config.stream_window; at += 2) {
        taken = p.server.on_stream({.id = id, .offset = at, .data = one});
        ++pieces;
    }
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::protocol);
    CHECK(pieces * 128 <= config.connection_window + 256);
    CHECK(pieces > 4096);  // an honest peer's full packets stay far below it
}
