#include "recovery/ack_regenerator.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::recovery::StretchAcks;

namespace {

Instant at(Duration d) { return Instant(d); }

/// A window that doubles each round. One ACK per round, 100 ms after the one before, covers the whole last window.
struct Doubling {
    StretchAcks acks;
    PacketNumber next = 0;
    std::uint32_t window = 0;
    Duration now = 0ms;

    explicit Doubling(std::uint32_t first = 5) { send(first); }
    void send(std::uint32_t packets) {
        for (std::uint32_t i = 0; i < packets; ++i) acks.on_sent(next++);
        window = packets;
    }
    StretchAcks::Acked round(bool stretched = true, std::uint32_t growth = 2) {
        const std::uint32_t acked = window;
        const PacketNumber largest = next - 1;
        send(growth * window);
        now += 100ms;
        return acks.on_ack(at(now), largest, {1000ULL * acked, acked}, stretched);
    }
};

}  // namespace

TEST_CASE("stretch ACKs: the packets of one are told one by one, all before the next comes") {
    Doubling d;
    (void)d.round();  // the interval is not known yet
    (void)d.acks.take_due(at(d.now));
    const auto first = d.round();
    CHECK(first.packets == 1);
    CHECK(first.bytes == 1000);
    REQUIRE(d.acks.kept_back().packets == 9);
    CHECK(d.acks.deadline() == at(d.now + 10ms));
    std::uint32_t told = 1;
    for (Duration t = d.now + 10ms; d.acks.deadline(); t += 10ms) {
        const auto part = d.acks.take_due(at(t));
        CHECK(part.packets == 1);
        CHECK(part.bytes == 1000);
        told += part.packets;
        CHECK(t < d.now + 100ms);
    }
    CHECK(told == 10);
    CHECK(d.acks.kept_back().bytes == 0);
}

TEST_CASE("stretch ACKs: what is kept back is not overtaken by the next one, and nothing gets lost") {
    Doubling d;
    std::uint64_t bytes = d.round().bytes;
    for (int i = 0; i < 4; ++i) {
        const auto kept = d.acks.kept_back();
        const auto told = d.round();
        CHECK(told.bytes == kept.bytes + 1000);
        bytes += told.bytes;
        bytes += d.acks.take_due(at(d.now + 33ms)).bytes;
    }
    CHECK(bytes + d.acks.kept_back().bytes == 1000 * (d.next - d.window));
    CHECK(d.acks.take_due(at(d.now + 1s)).bytes > 0);
    CHECK_FALSE(d.acks.deadline().has_value());
}

TEST_CASE("stretch ACKs: of many packets those of a millisecond are told together") {
    Doubling d(500);
    (void)d.round();
    (void)d.acks.take_due(at(d.now));
    (void)d.round();
    CHECK(d.acks.deadline() == at(d.now + 1ms));
    CHECK(d.acks.take_due(at(d.now + 1ms)).packets == 10);
}

TEST_CASE("stretch ACKs: all at once where ACKs are not far apart, and while the controller does not probe") {
    Doubling d;
    for (const std::uint32_t packets : {5U, 10U, 20U, 40U, 80U, 160U}) CHECK(d.round(false).packets == packets);
    // The window stays constant, which the meter detects after some ACKs.
    for (int i = 0; i < 20; ++i) (void)d.round(true, 1);
    CHECK_FALSE(d.acks.probing());
    (void)d.acks.take_due(at(d.now + 99ms));
    CHECK(d.round(true, 1).packets == 320);
    CHECK(d.acks.kept_back().packets == 0);
    // A probe repeats data, so the sender starts over.
    d.acks.on_sent(d.next++);
    d.acks.on_repeat(d.next - 1);
    CHECK(d.acks.probing());
}
