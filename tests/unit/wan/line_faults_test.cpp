#include <set>
#include <vector>

#include "line.hpp"
#include "line_rig.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::wan;

namespace {

constexpr int kPackets = 100'000;

/// Sending times far enough apart that no queue forms.
Instant when(int packet) { return kZero + packet * 1ms; }

LineParams fast_line() {
    LineParams params = plain_line();
    params.rate = Rate::bits_per_second(1e9);
    return params;
}

}  // namespace

TEST_CASE("wan line: random loss at its rate, the same for the same seed") {
    LineParams params = fast_line();
    params.loss = 0.01;
    Line line = make_line(params, 5);
    Line twin = make_line(params, 5);
    Line other = make_line(params, 6);
    int differences = 0;
    for (int i = 0; i < kPackets; ++i) {
        const Verdict verdict = line.offer(when(i), 1500, 0).verdict;
        REQUIRE(verdict == twin.offer(when(i), 1500, 0).verdict);
        differences += verdict != other.offer(when(i), 1500, 0).verdict ? 1 : 0;
    }
    // Mean 1,000, standard deviation 31.
    CHECK(line.counters().dropped_loss > 850);
    CHECK(line.counters().dropped_loss < 1150);
    CHECK(differences > 1000);
    CHECK(line.counters().dropped_queue == 0);
}

TEST_CASE("wan line: burst loss has the length and the share that its two states give") {
    LineParams params = fast_line();
    params.burst.enter = 0.002;
    params.burst.leave = 0.1;
    Line line = make_line(params);
    int bursts = 0;
    int lost = 0;
    bool before = false;
    for (int i = 0; i < kPackets; ++i) {
        const bool now = line.offer(when(i), 1500, 0).verdict == Verdict::lost_in_burst;
        bursts += now && !before ? 1 : 0;
        lost += now ? 1 : 0;
        before = now;
    }
    // Share of the bad state: enter / (enter + leave) = 1.96 %. Mean length: 1 / leave = 10.
    CHECK(lost > 1500);
    CHECK(lost < 2500);
    CHECK(static_cast<double>(lost) / bursts > 8.0);
    CHECK(static_cast<double>(lost) / bursts < 12.0);
}

TEST_CASE("wan line: jitter delays within its bound and keeps the order") {
    LineParams params = fast_line();
    params.jitter = 5ms;
    Line line = make_line(params);
    Instant last{};
    Duration least = 1s;
    Duration most{};
    for (int i = 0; i < 10'000; ++i) {
        const Instant at = line.offer(when(i), 1500, 0).at;
        CHECK(at >= last);
        last = at;
        least = std::min(least, at - when(i));
        most = std::max(most, at - when(i));
    }
    CHECK(least >= 10ms);
    CHECK(least < 13ms);
    CHECK(most > 14ms);
    CHECK(most <= 15012us);
}

TEST_CASE("wan line: a card that coalesces interrupts hands packets over at its beat") {
    LineParams params = fast_line();
    params.coalesce = 5ms;
    Line line = make_line(params);
    Instant last{};
    int together = 0;
    for (int i = 0; i < 1000; ++i) {
        const Instant at = line.offer(when(i), 1500, 0).at;
        CHECK(at.time_since_epoch() % 5ms == 0us);
        CHECK(at - when(i) > 10ms);
        CHECK(at - when(i) <= 15ms + 12us);
        if (at == last) ++together;
        last = at;
    }
    CHECK(together == 800);
}

TEST_CASE("wan line: what comes out of order waits for an interrupt as well") {
    LineParams params = fast_line();
    params.coalesce = 5ms;
    params.jitter = 3ms;
    params.reorder = 0.2;
    params.reorder_by = 7ms;
    params.keep_order = GENERATE(true, false);
    Line line = make_line(params);
    for (int i = 0; i < 1000; ++i) CHECK(line.offer(when(i), 1500, 0).at.time_since_epoch() % 5ms == 0us);
    CHECK(line.counters().reordered > 100);
}

TEST_CASE("wan line: where the order is free, packets overtake by jitter and when the delay falls") {
    LineParams slow = fast_line();
    slow.keep_order = false;
    slow.delay = 1s;
    LineParams quick = slow;
    quick.delay = 10ms;
    quick.jitter = 5ms;
    LineSetup setup;
    setup.phases = {Phase{0ms, slow}, Phase{100ms, quick}};
    Line line(kZero, setup);
    CHECK(line.offer(kZero + 99ms, 1500, 0).at >= kZero + 1099ms);
    int overtaking = 0;
    Instant last{};
    for (int i = 0; i < 1000; ++i) {
        const Instant sent = kZero + 101ms + i * 100us;
        const Instant at = line.offer(sent, 1500, 0).at;
        CHECK(at >= sent + 10ms);
        CHECK(at <= sent + 16ms);
        overtaking += at < last ? 1 : 0;
        last = at;
    }
    CHECK(overtaking > 100);
}

TEST_CASE("wan line: reordered packets come later, the others do not wait for them") {
    LineParams params = fast_line();
    params.reorder = 0.1;
    params.reorder_by = 3ms;
    Line line = make_line(params);
    int late = 0;
    for (int i = 0; i < 10'000; ++i) {
        const Duration took = line.offer(when(i), 1500, 0).at - when(i);
        const bool held_back = took == 13012us;
        CHECK((held_back || took == 10012us));
        late += held_back ? 1 : 0;
    }
    CHECK(late > 850);
    CHECK(late < 1150);
    CHECK(line.counters().reordered == static_cast<std::uint64_t>(late));
}

TEST_CASE("wan line: duplicates") {
    LineParams params = fast_line();
    params.duplicate = 1.0;
    Line line = make_line(params);
    const Fate fate = line.offer(kZero, 1500, 0);
    REQUIRE(fate.duplicate.has_value());
    CHECK(*fate.duplicate == fate.at);
    CHECK(line.counters().duplicated == 1);
}
