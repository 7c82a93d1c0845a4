#include "multipath/reinjector.hpp"

#include <array>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathId;
using udtx::StreamDemand;
using udtx::StreamKind;
using udtx::multipath::DuplicateBudget;
using udtx::multipath::Reinjection;
using udtx::multipath::Reinjector;
using udtx::multipath::TransmissionRecord;
using udtx::multipath::test::kDatagram;
using udtx::multipath::test::view;

namespace {

constexpr PathId kGood{0};
constexpr PathId kBad{1};

// Datagrams are assigned to the bad path; the good path could deliver each in 6 ms.
struct Rig {
    explicit Rig(StreamKind kind) : record(kind), demand(udtx::multipath::test::demand(kind)) {
        budget.on_new_bytes(100'000'000);
    }
    void assign(int datagrams) {
        for (int i = 0; i < datagrams; ++i) {
            (void)record.on_assigned(now, kBad, {demand.next, demand.next + kDatagram}, false, paths[1].smoothed_rtt);
            demand.next += kDatagram;
        }
    }
    std::optional<Reinjection> next() { return reinjector.next(now, demand, record, culprit, paths); }
    int drain() {
        int copies = 0;
        while (const auto copy = next()) {
            record.on_copied(now, copy->entry, copy->range.end);
            reinjector.on_sent(*copy, copy->range.end);
            CHECK(copy->path == kGood);
            ++copies;
        }
        return copies;
    }

    TransmissionRecord record;
    DuplicateBudget budget;
    Reinjector reinjector{budget};
    StreamDemand demand;
    std::optional<PathId> culprit;
    std::array<udtx::PathView, 2> paths{view(0, 11.2, 10ms), view(1, 11.2, 10ms)};
    Instant now{1h};
};

}  // namespace

TEST_CASE("what is late and near the head goes again, and once more when the copy is late, too") {
    Rig rig(StreamKind::ordered);
    rig.assign(100);
    rig.now += 24ms;  // late after 24.5 ms: 1.25 base RTTs, 2 ms and the acknowledgement delay
    CHECK(rig.drain() == 0);
    REQUIRE(rig.reinjector.wakeup());
    CHECK(*rig.reinjector.wakeup() <= rig.now + 2ms);
    rig.now += 1500us;
    const int head = static_cast<int>(Reinjector::kHeadPackets);
    CHECK(rig.drain() == head);
    rig.now += 24ms;
    CHECK(rig.drain() == 0);
    REQUIRE(rig.reinjector.wakeup());
    CHECK(*rig.reinjector.wakeup() <= rig.now + 2ms);
    rig.now += 1500us;
    CHECK(rig.drain() == head);
    rig.now += 1s;
    CHECK(rig.drain() == 0);
}

TEST_CASE("with the receiver's window full all that is late goes again") {
    Rig rig(StreamKind::ordered);
    rig.assign(100);
    rig.demand.receive_window = rig.demand.limit = rig.demand.next;
    rig.now += 30ms;
    CHECK(rig.drain() == 100);
}

TEST_CASE("the culprit's bytes go again before they are late, where that is sooner") {
    Rig rig(StreamKind::ordered);
    rig.paths[1].smoothed_rtt = 24ms;
    rig.assign(100);
    rig.now += 1ms;
    CHECK(rig.drain() == 0);
    rig.now += 2ms;
    rig.culprit = kBad;
    CHECK(rig.drain() == 100);
    rig.paths[1].smoothed_rtt = 10ms;  // the originals will arrive earlier than a copy
    rig.assign(1);
    rig.now += 2ms;
    CHECK(rig.drain() == 0);
}

TEST_CASE("on a path that is known to be bloated what is near the head goes again at once") {
    Rig rig(StreamKind::ordered);
    rig.paths[1].smoothed_rtt = 100ms;
    rig.assign(100);
    rig.now += 1ms;
    CHECK(rig.drain() == static_cast<int>(Reinjector::kHeadPackets));
}

TEST_CASE("what comes in its time through a queue that stands, or ahead of the others' bytes, is left alone") {
    Rig rig(StreamKind::ordered);
    for (auto& path : rig.paths) path.smoothed_rtt = 36ms;  // both bloated: 31 ms one way, and a copy takes as long
    rig.assign(100);
    for (int ms = 0; ms < 48; ++ms, rig.now += 1ms) CHECK(rig.drain() == 0);
    rig.paths[0].smoothed_rtt = 10ms;
    rig.now += 1ms;  // late after 36 + 12 ms
    CHECK(rig.drain() > 0);

    Rig ahead(StreamKind::ordered);
    ahead.paths[1].smoothed_rtt = 100ms;
    ahead.assign(100);
    ahead.demand.next = 0;  // the other path still has to fill the bytes before them
    ahead.now += 1ms;
    CHECK(ahead.drain() == 0);
    ahead.demand.next = 10 * kDatagram;
    ahead.now += 2ms;
    CHECK(ahead.drain() == 10);
}

TEST_CASE("late is what takes longer than the path's RTT when it left, whatever that has become since") {
    Rig rig(StreamKind::ordered);
    rig.assign(100);
    for (int ms = 0; ms < 24; ++ms, rig.now += 1ms) {
        rig.paths[1].smoothed_rtt += 1ms;
        CHECK(rig.drain() == 0);
    }
    rig.now += 1500us;  // late after 1.25 base RTTs and 12 ms, although the smoothed RTT has grown to 34 ms
    CHECK(rig.drain() > 0);
}

TEST_CASE("near the head is what the receiver waits for before a copy could be there") {
    Rig rig(StreamKind::ordered);
    rig.paths[0] = view(0, 11.2, 100ms);  // one datagram per millisecond: 146 until a copy is acknowledged
    rig.paths[0].min_rtt = 50ms;
    rig.paths[1].smoothed_rtt = 1s;
    rig.assign(300);
    rig.now += 1ms;
    const int copies = rig.drain();
    CHECK(copies >= 100);
    CHECK(copies <= 150);
}

TEST_CASE("unordered: only the tail, once nothing is left to assign") {
    Rig rig(StreamKind::unordered);
    rig.paths[1].smoothed_rtt = 500ms;
    rig.assign(10);
    rig.now += 100ms;
    CHECK(rig.drain() == 0);
    rig.demand.end_known = true;
    rig.demand.remaining = 0;
    rig.now += 1ms;
    CHECK(rig.drain() == 10);
    // If the other path would deliver later, no copy is sent.
    rig.assign(10);
    rig.paths[0] = view(0, 11.2, 2s);
    rig.now += 2ms;
    CHECK(rig.drain() == 0);
}

TEST_CASE("copies and probes stay within the budget") {
    DuplicateBudget budget;
    CHECK_FALSE(budget.allows_copy(1));
    std::uint64_t fresh = 0;
    std::uint64_t again = 0;
    for (int i = 0; i < 10'000; ++i) {
        fresh += 1400;
        budget.on_new_bytes(1400);
        if (budget.allows_copy(1400)) {
            budget.on_copy(1400);
            again += 1400;
        }
        if (budget.allows_probe(1400)) {
            budget.on_probe(1400);
            again += 1400;
        }
    }
    CHECK(static_cast<double>(again) <= 0.05 * static_cast<double>(fresh));
    CHECK(static_cast<double>(again) >= 0.049 * static_cast<double>(fresh));

    Rig rig(StreamKind::ordered);
    rig.budget = DuplicateBudget();
    rig.budget.on_new_bytes(10 * kDatagram * 25);  // copies may use a 25th of it
    rig.assign(100);
    rig.now += 30ms;
    CHECK(rig.drain() == 10);
}

TEST_CASE("a path that died is late at once, and one that cannot send gets nothing") {
    Rig rig(StreamKind::ordered);
    rig.assign(3);
    rig.now += 20ms;
    rig.paths[1].usable = rig.paths[1].may_send = false;
    rig.paths[0].may_send = false;
    CHECK(rig.drain() == 0);
    rig.paths[0].may_send = true;
    rig.now += 2ms;
    CHECK(rig.drain() == 3);
}

TEST_CASE("what left when the RTT was short may be late behind what is not") {
    Rig rig(StreamKind::ordered);
    rig.paths[1].smoothed_rtt = 24ms;
    rig.assign(1);  // late after 24 + 12 ms
    rig.paths[1].smoothed_rtt = 10ms;
    rig.assign(1);  // late after 24.5 ms
    rig.paths[1].smoothed_rtt = 24ms;
    rig.now += 24ms;
    CHECK(rig.drain() == 0);
    REQUIRE(rig.reinjector.wakeup());
    CHECK(*rig.reinjector.wakeup() <= rig.now + 2ms);
    rig.now += 1500us;
    CHECK(rig.drain() == 1);
}

TEST_CASE("a copy of bytes that were lost before goes ahead of a copy of newer bytes") {
    Rig rig(StreamKind::ordered);
    rig.record.on_lost(rig.record.on_assigned(rig.now, kGood, {0, kDatagram}, false, rig.paths[0].smoothed_rtt));
    (void)rig.record.on_assigned(rig.now, kBad, {0, kDatagram}, true, rig.paths[1].smoothed_rtt);
    rig.demand.next = kDatagram;
    rig.assign(2);
    rig.now += 26ms;
    const auto copy = rig.next();
    REQUIRE(copy);
    CHECK(copy->range.begin == 0);
}
