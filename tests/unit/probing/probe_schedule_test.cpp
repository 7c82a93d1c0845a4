// When pairs and trains are sent, and what ends them.
#include "probing/probe_schedule.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::probing;

namespace {

constexpr std::uint32_t kDatagram = 1400;

/// Sends the packets of one probe after the other, as a connection does.
struct Sender {
    ProbeSchedule schedule;
    Instant now = Instant(1h);
    PacketNumber number = 16;
    ProbeSchedule::Bounds bounds{.datagram_bytes = kDatagram};

    /// Number of packets of the probe that the next packet starts; 0: none.
    [[nodiscard]] std::uint32_t due() const {
        return schedule.may_open(now, number) ? schedule.packets(now, number, bounds) : 0;
    }
    /// Sends a packet of the current probe; returns its planned size.
    std::size_t leave(bool first, bool more = true) {
        const std::size_t size = schedule.next_size(kDatagram);
        schedule.on_left(now, {.first = first, .planned = size, .size = size}, more);
        ++number;
        return size;
    }
    /// Sends a whole probe of so many packets; returns their sizes.
    std::vector<std::size_t> send(std::uint32_t packets, Duration gap = 0us) {
        schedule.open(packets, 0);
        std::vector<std::size_t> sizes{leave(true)};
        while (schedule.under_way()) {
            now += gap;
            sizes.push_back(leave(false));
        }
        return sizes;
    }
};

}  // namespace

TEST_CASE("probe schedule: every 16th packet opens a pair, at most one a millisecond") {
    Sender s;
    CHECK(s.due() == 2);
    s.number = 17;
    CHECK(s.due() == 0);
    s.number = 32;
    CHECK(s.send(s.due()) == std::vector<std::size_t>{kDatagram - 2 * kSizeStep, kDatagram - kSizeStep});
    s.number = 48;
    s.now += 999us;
    CHECK(s.due() == 0);
    s.now += 1us;
    CHECK(s.due() == 2);
}

TEST_CASE("probe schedule: the first train opens with any packet, later ones in the place of a pair") {
    Sender s;
    s.bounds.wanted = 12;
    s.number = 17;
    CHECK(s.due() == 12);
    const auto sizes = s.send(12);
    CHECK(sizes.size() == 12);
    for (std::size_t i = 1; i < sizes.size(); ++i) CHECK(sizes[i] > sizes[i - 1]);  // so GRO does not merge them
    s.now += 100ms;
    s.number = 33;
    CHECK(s.due() == 0);
    s.number = 48;
    CHECK(s.due() == 2);  // too early for another train
    (void)s.send(2);
    s.now += 100ms;
    s.number = 64;
    CHECK(s.due() == 12);
}

TEST_CASE("probe schedule: a train has no more packets than both ends know of") {
    Sender s;
    s.bounds.wanted = 1000;
    CHECK(s.due() == kMostTrainPackets);
    s.bounds.wanted = 0;
    CHECK(s.due() == kPairPackets);
}

TEST_CASE("probe schedule: no train where the cap would have it last longer than 2 ms") {
    Sender s;
    s.bounds.wanted = 16;
    s.bounds.cap = Rate::from_bytes(16 * kDatagram, 2ms);
    CHECK(s.due() == 16);
    s.bounds.cap = s.bounds.cap * 0.999;
    CHECK(s.due() == 2);
    s.number = 17;
    CHECK(s.due() == 0);
}

TEST_CASE("probe schedule: a long train is no longer than the cap allows") {
    Sender s;
    s.bounds.wanted = 64;
    s.bounds.cap = Rate::from_bytes(40 * kDatagram, 2ms) * 1.001;
    CHECK(s.due() == 40);
    s.bounds.cap = Rate::from_bytes(400 * kDatagram, 2ms);
    CHECK(s.due() == 64);
}

TEST_CASE("probe schedule: a small packet or a lack of data ends the probe") {
    Sender s;
    s.bounds.wanted = 16;
    s.schedule.open(16, 7);
    CHECK(s.schedule.from() == 7);
    SECTION("a first one that is small is none") {
        const std::size_t planned = s.schedule.next_size(kDatagram);
        s.schedule.on_left(s.now, {.first = true, .planned = planned, .size = 100}, true);
        CHECK(s.due() == 16);
    }
    SECTION("nothing came") {
        const std::size_t planned = s.schedule.next_size(kDatagram);
        s.schedule.on_left(s.now, {.first = true, .planned = planned, .size = 0}, true);
        CHECK(s.due() == 16);
    }
    SECTION("the data ended") {
        (void)s.leave(true);
        CHECK(s.schedule.under_way());
        (void)s.leave(false, false);
        s.now += 1ms;
        s.number = 32;
        CHECK(s.due() == 2);  // the train counts as sent, although it was cut short
    }
    SECTION("the path failed") { s.schedule.abandon(); }
    CHECK(!s.schedule.under_way());
}

TEST_CASE("probe schedule: trains are measured as they leave, pairs are not") {
    Sender s;
    (void)s.send(2, 4us);
    CHECK(s.schedule.departures().told(s.now).time_of_byte == 0.0);
    s.now += 1s;
    (void)s.send(16, 14us);
    // The packets grow from first to last. All but the first have 1,392 bytes on average.
    const double bytes = kDatagram - 8.0 * kSizeStep;
    CHECK(s.schedule.departures().told(s.now).time_of_byte == Approx(14'000 / bytes));
}
