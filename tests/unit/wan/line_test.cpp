#include "line.hpp"

#include "line_rig.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::wan;

TEST_CASE("wan line: serialisation and propagation, to the nanosecond") {
    Line line = make_line(plain_line());
    CHECK(line.offer(kZero, 1000, 0).at == kZero + 11ms);
    CHECK(line.offer(kZero, 1000, 0).at == kZero + 12ms);
    CHECK(line.offer(kZero + 5ms, 500, 0).at == kZero + 15500us);
    CHECK(line.counters().queued == 3);
    CHECK(line.counters().wait_seconds == Approx(1e-3));
}

TEST_CASE("wan line: a packet pair leaves with the gap of its second packet") {
    LineParams params = plain_line();
    params.rate = Rate::bits_per_second(500e6);
    Line line = make_line(params);
    const Instant first = line.offer(kZero, 1484, 0).at;
    const Instant second = line.offer(kZero + 3us, 1500, 0).at;
    CHECK(second - first == 24us);
}

TEST_CASE("wan line: the queue holds its bytes besides the packet that is being sent") {
    LineParams params = plain_line();
    params.queue_bytes = 3000;
    Line line = make_line(params);
    for (int i = 0; i < 4; ++i) CHECK(line.offer(kZero, 1000, 0).verdict == Verdict::delivered);
    CHECK(line.queue_bytes(kZero) == 3000);
    CHECK(line.offer(kZero, 1000, 0).verdict == Verdict::queue_full);
    CHECK(line.offer(kZero, 1, 0).verdict == Verdict::queue_full);
    CHECK(line.queue_bytes(kZero + 1ms) == 2000);
    CHECK(line.offer(kZero + 1ms, 1000, 0).verdict == Verdict::delivered);
    CHECK(line.counters().dropped_queue == 2);
    CHECK(line.take_queue_peak() == 3000);
    CHECK(line.queue_bytes(kZero + 10ms) == 0);
    static_cast<void>(line.take_queue_peak());
    CHECK(line.take_queue_peak() == 0);
}

TEST_CASE("wan line: an unlimited rate neither queues nor drops") {
    LineParams params;
    params.delay = 5ms;
    params.queue_bytes = 0;
    Line line = make_line(params);
    for (int i = 0; i < 100; ++i) CHECK(line.offer(kZero, 1500, 0).at == kZero + 5ms);
    CHECK(line.counters().dropped_queue == 0);
}

TEST_CASE("wan line: a change of the rate holds for the bytes that have not left yet") {
    LineSetup setup;
    LineParams slow = plain_line();
    slow.rate = Rate::bits_per_second(4e6);
    setup.phases = {Phase{0ms, plain_line()}, Phase{1500us, slow}};
    Line line(kZero, setup);
    CHECK(line.offer(kZero, 1000, 0).at == kZero + 11ms);
    // 500 bytes at one byte per microsecond, then 500 at half that rate.
    CHECK(line.offer(kZero, 1000, 0).at == kZero + 12500us);
}

TEST_CASE("wan line: packets wait for a line that is down") {
    LineSetup setup;
    LineParams down = plain_line();
    down.rate = Rate();
    setup.phases = {Phase{0ms, plain_line()}, Phase{500us, down}, Phase{2s, plain_line()}};
    Line line(kZero, setup);
    CHECK(line.offer(kZero, 1000, 0).at == kZero + 2s + 10500us);
    CHECK(line.offer(kZero + 1s, 1000, 0).at == kZero + 2s + 11500us);

    setup.phases.pop_back();
    Line dead(kZero, setup);
    CHECK(dead.offer(kZero, 1000, 0).verdict == Verdict::queue_full);
}

TEST_CASE("wan line: a delay that shrinks lets nothing overtake") {
    LineSetup setup;
    LineParams near = plain_line();
    near.delay = 1ms;
    setup.phases = {Phase{0ms, plain_line()}, Phase{1ms, near}};
    Line line(kZero, setup);
    const Instant first = line.offer(kZero, 900, 0).at;
    CHECK(line.offer(kZero + 1ms, 100, 0).at == first);
    CHECK(line.offer(kZero + 20ms, 1000, 0).at == kZero + 22ms);
}

TEST_CASE("wan line: hosts farther away share the queue but not the delay") {
    LineSetup setup;
    setup.phases[0].params = plain_line();
    setup.extra_delay[7] = 90ms;
    Line line(kZero, setup);
    CHECK(line.offer(kZero, 1000, 7).at == kZero + 101ms);
    CHECK(line.offer(kZero, 1000, 2).at == kZero + 12ms);
    line.on_delivered(7, 1000);
    CHECK(line.delivered_bytes()[7] == 1000);
    CHECK(line.delivered_bytes()[2] == 0);
}

TEST_CASE("wan line: cross traffic takes its share of the line and of the queue") {
    LineParams params = plain_line();
    params.cross.rate = Rate::bits_per_second(4e6);
    params.cross.packet_bytes = 1000;
    params.cross.on = 2s;
    params.cross.off = 1s;
    params.cross.from = 5s;
    Line line = make_line(params);
    CHECK(line.queue_bytes(kZero + 4999ms) == 0);
    CHECK(line.counters().cross_bytes == 0);
    // 500 packets/s during 2 of each 3 s: 2,000 packets in 6 s.
    static_cast<void>(line.queue_bytes(kZero + 11s - 1ns));
    CHECK(line.counters().cross_bytes == 2'000'000);

    // A packet that is offered right after a cross-traffic packet waits for it.
    const Fate fate = line.offer(kZero + 11s, 1000, 0);
    CHECK(fate.at == kZero + 11s + 12ms);
    CHECK(line.counters().delivered_bytes == 0);
}
