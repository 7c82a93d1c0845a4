// Pairs on a link that is too slow for trains, with the timestamps of cards with and without interrupt coalescing.
#include "probing/pair_meter.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::probing;

namespace {

constexpr Instant kStart = Instant(1h);

/// 64 pairs with a spacing of `gap` on the link, with interrupts every `period`.
double measured(Duration gap, Duration period, Duration granularity) {
    LinePairs pairs;
    for (int i = 0; i < 64; ++i) {
        const Duration first = i * 10'037us;
        const auto stamp = [period](Duration came) { return (came + period - 1ns) / period * period; };
        pairs.on_pair(kStart + first, stamp(first + gap) - stamp(first), 1000);
    }
    return pairs.time_of_byte(kStart + 640ms, granularity);
}

}  // namespace

TEST_CASE("line pairs: the mean of gaps that interrupts blur is the line's, zeros included") {
    for (const Duration gap : {150us, 300us, 600us, 2400us}) {
        for (const Duration period : {125us, 200us, 250us, 500us}) {
            INFO(gap.count() << " ns, interrupts every " << period.count());
            CHECK(measured(gap, period, period) == Approx(static_cast<double>(gap.count()) / 1000).epsilon(0.1));
        }
    }
}

TEST_CASE("line pairs: two gaps a beat apart are one, although nothing tells of the card") {
    for (const Duration gap : {300us, 600us, 2400us}) {
        for (const Duration period : {50us, 100us, 125us, 150us}) {
            INFO(gap.count() << " ns, interrupts every " << period.count());
            CHECK(measured(gap, period, 0us) == Approx(static_cast<double>(gap.count()) / 1000).epsilon(0.05));
        }
    }
}

TEST_CASE("line pairs: gaps that small packets of others widened make no beat") {
    LinePairs pairs;
    for (int i = 0; i < 64; ++i) pairs.on_pair(kStart + i * 10ms, 300us + i % 3 * 50us, 1000);
    CHECK(pairs.time_of_byte(kStart + 640ms, 0us) == Approx(300.0));
}

TEST_CASE("line pairs: what others widened does not count") {
    for (const Duration granularity : {0us, 100us}) {
        LinePairs pairs;
        for (int i = 0; i < 64; ++i) pairs.on_pair(kStart + i * 10ms, i % 3 == 0 ? 300us : 900us, 1000);
        CHECK(pairs.time_of_byte(kStart + 640ms, granularity) == Approx(300.0));
    }
}

TEST_CASE("line pairs: without coalescing a gap that stamps cannot tell does not count") {
    LinePairs pairs;
    CHECK(pairs.time_of_byte(kStart, 0us) == 0.0);
    for (int i = 0; i < 8; ++i) pairs.on_pair(kStart, i % 2 == 0 ? 1us : 100us, 1000);
    CHECK(pairs.time_of_byte(kStart, 0us) == Approx(100.0));
}
