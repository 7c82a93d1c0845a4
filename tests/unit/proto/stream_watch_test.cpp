#include "proto/stream_watch.hpp"

#include <array>
#include <deque>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::proto;
using recovery::SentPacket;

namespace {

constexpr std::uint32_t kDatagram = 1200;
constexpr PathId kGood{0};
constexpr PathId kBad{1};

/// One stream over two paths of 10 ms, with packets of a thousand bytes.
struct Rig {
    Rig() {
        TransportParameters peer;
        peer.connection_window = peer.stream_window = 1U << 30U;
        peer.max_streams = 10;
        streams.set_peer_limits(peer);
        id = *streams.open(StreamKind::ordered);
        REQUIRE(streams.write(id, Chunk::copy_of(std::vector<std::byte>(1'000'000))).ok());
        for (const PathId path : {kGood, kBad}) {
            auto& v = paths.at(path.value);
            v.id = path;
            v.window = 100'000;
            v.rate = Rate::bits_per_second(100e6);
            v.smoothed_rtt = v.min_rtt = 10ms;
            v.datagram_bytes = kDatagram;
        }
    }
    SentPacket send(PathId path) {
        std::array<std::byte, 1000> buffer{};
        wire::Writer out(buffer);
        SentPacket packet;
        streams.fill_data(out, packet);
        REQUIRE(packet.range_count == 1);
        watch.on_sent(now, path, 10ms, packet);
        return packet;
    }
    void acked(const SentPacket& packet) {
        streams.on_acked(packet);
        watch.on_acked(packet, streams);
    }
    void lost(const SentPacket& packet) {
        streams.on_lost(packet);
        watch.on_lost(packet);
    }
    std::optional<StreamWatch::Copy> next() { return watch.next(now, streams, paths); }

    TransportConfig config;
    std::deque<Event> events;
    StreamTable streams{Role::client, config, events};
    StreamWatch watch;
    StreamId id;
    std::array<PathView, 2> paths;
    Instant now{1h};
};

}  // namespace

TEST_CASE("late bytes are found, copied, and done with when the copy has arrived") {
    Rig rig;
    const SentPacket late = rig.send(kBad);
    for (int i = 0; i < 100; ++i) rig.acked(rig.send(kGood));
    CHECK_FALSE(rig.next());
    rig.now += 40ms;
    REQUIRE(rig.watch.due(rig.now));
    auto copy = rig.next();
    REQUIRE(copy);
    CHECK(copy->stream == rig.id);
    CHECK(copy->what.path == kGood);
    CHECK(copy->what.range == Range{late.ranges[0].offset, late.ranges[0].offset + late.ranges[0].length});
    copy->done = copy->what.range.end;
    rig.watch.on_copied(rig.now, *copy);
    CHECK(rig.watch.reinjected(kGood) == late.ranges[0].length);

    SentPacket again = late;
    again.ranges[0].copy = true;
    rig.watch.on_sent(rig.now, kGood, 10ms, again);  // does not change the record
    rig.acked(again);
    rig.now += 10ms;
    CHECK_FALSE(rig.next());
    CHECK_FALSE(rig.watch.wakeup());
}

TEST_CASE("a copy that had room for a part only is continued, and its arrival alone is not all") {
    Rig rig;
    const SentPacket late = rig.send(kBad);
    for (int i = 0; i < 100; ++i) rig.acked(rig.send(kGood));
    rig.now += 40ms;
    auto first = rig.next();
    REQUIRE(first);
    const Range whole = first->what.range;
    first->done = whole.end - 30;
    rig.watch.on_copied(rig.now, *first);
    auto rest = rig.next();
    REQUIRE(rest);
    CHECK(rest->what.range == Range{whole.end - 30, whole.end});
    rest->done = whole.end;
    rig.watch.on_copied(rig.now, *rest);
    CHECK_FALSE(rig.next());
    CHECK(rig.watch.reinjected(kGood) == whole.size());

    SentPacket part = late;
    part.ranges[0].copy = true;
    part.ranges[0].length -= 30;
    rig.acked(part);
    rig.now += 40ms;
    const auto again = rig.next();
    REQUIRE(again);
    CHECK(again->what.entry == first->what.entry);
    part.ranges[0].offset += part.ranges[0].length;
    part.ranges[0].length = 30;
    rig.acked(part);
    rig.now += 40ms;
    CHECK_FALSE(rig.next());
}

TEST_CASE("what is lost belongs to the path that carries it next") {
    Rig rig;
    for (int i = 0; i < 100; ++i) rig.acked(rig.send(kGood));
    rig.lost(rig.send(kBad));
    const SentPacket again = rig.send(kGood);
    CHECK(again.ranges[0].again);
    CHECK(again.ranges[0].record_path == kGood);
    rig.now += 40ms;
    const auto copy = rig.next();
    REQUIRE(copy);
    CHECK(copy->what.path == kBad);
    CHECK(copy->what.entry.path == kGood);
}

TEST_CASE("a stream that is given up is watched no more; probes have a budget of their own") {
    Rig rig;
    CHECK_FALSE(rig.watch.allows_probe(1));
    SentPacket last;
    for (int i = 0; i < 200; ++i) last = rig.send(kBad);
    CHECK(rig.watch.allows_probe(1900));
    SentPacket probe = last;
    probe.ranges[0] = {.stream = rig.id, .offset = last.ranges[0].offset, .length = 900, .copy = true};
    rig.watch.on_sent(rig.now, kGood, 10ms, probe);
    CHECK(rig.watch.allows_probe(1000));
    CHECK_FALSE(rig.watch.allows_probe(1100));
    rig.now += 40ms;
    REQUIRE(rig.next());
    rig.streams.reset(rig.id, 1);
    rig.now += 10ms;
    CHECK_FALSE(rig.next());
    CHECK_FALSE(rig.watch.due(rig.now + 1s));
}
