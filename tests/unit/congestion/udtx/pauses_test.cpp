// udtx's pauses: what BBR does to a queue is told from what others do.
#include "congestion/udtx/pauses.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr double kBase = 0.040;
constexpr double kHalf = 0.005;
constexpr double kLong = 0.035;

/// A line whose queue stands for so long, falls to `low` within `fall`, stays there for `away` and is back.
struct Cycle {
    Duration stands = 4s;
    Duration fall = 40ms;
    double low = 0.0;
    Duration away = 300ms;
    bool drained = false;
    double high = kLong;
    double full = 0.0;
};

class Rig {
  public:
    void run(const Cycle& cycle) {
        full_ = cycle.full;
        stay(cycle.stands, cycle.high, cycle.high, false);
        stay(cycle.fall, cycle.high, cycle.low, cycle.drained);
        stay(cycle.away, cycle.low, cycle.low, cycle.drained);
        stay(100ms, cycle.high, cycle.high, false);
    }
    void run(const Cycle& cycle, int times) {
        for (int i = 0; i < times; ++i) run(cycle);
    }
    void stay(Duration length, double from, double to, bool drained) {
        for (Duration t{}; t < length; t += 5ms) {
            const double part = to_seconds(t) / to_seconds(length);
            pauses_.on_feedback(now_ + t, {.queue = from + part * (to - from),
                                           .half_delay = kHalf,
                                           .base_rtt = kBase,
                                           .drained = drained,
                                           .full = full_});
        }
        now_ += length;
    }
    [[nodiscard]] bool regular() const { return pauses_.regular(now_); }

  private:
    UdtxPauses pauses_;
    double full_ = 0.0;
    Instant now_ = Instant(1h);
};

}  // namespace

TEST_CASE("udtx's pauses: a long queue that is gone at once and back, twice") {
    Rig rig;
    rig.run(Cycle{});
    CHECK(!rig.regular());
    rig.run(Cycle{});
    CHECK(rig.regular());
    SECTION("kept up every ten seconds") {
        rig.run({.stands = 9s}, 3);
        CHECK(rig.regular());
    }
    SECTION("forgotten when it happens no more") {
        rig.stay(30s, kLong, kLong, false);
        CHECK(!rig.regular());
    }
}

TEST_CASE("udtx's pauses: none is what answers to loss, has ended, or drains when we do") {
    Rig rig;
    SECTION("CUBIC leaves some of it") { rig.run({.low = 0.7 * (kBase + kLong) - kBase}, 5); }
    SECTION("a slow decay") { rig.run({.fall = 400ms}, 5); }
    SECTION("others that left for good, or for a while") { rig.run({.away = 2s}, 5); }
    SECTION("our own drains") { rig.run({.drained = true}, 5); }
    SECTION("newcomers, whose queue does not last") { rig.run({.stands = 300ms}, 20); }
    SECTION("a queue that our own kind could keep") { rig.run({.high = 3.0 * kHalf}, 5); }
    CHECK(!rig.regular());
}

TEST_CASE("udtx's pauses: a queue that stands through our own drains, each second, is gone without us") {
    Rig rig;
    const auto drains = [&rig](double low) {
        for (int i = 0; i < 4; ++i) {
            rig.stay(400ms, kLong, kLong, false);
            rig.stay(600ms, low, low, true);
        }
    };
    SECTION("it stands") {
        for (int i = 0; i < 2; ++i) {
            drains(kLong);
            rig.run({.stands = 100ms});
        }
        CHECK(rig.regular());
    }
    SECTION("it goes with them, as our own kind's") {
        for (int i = 0; i < 2; ++i) {
            drains(0.0);
            rig.run({.stands = 100ms});
        }
        CHECK(!rig.regular());
    }
}

TEST_CASE("udtx's pauses: where the buffer overflows, a shorter queue that is gone at once without having been full") {
    constexpr double kFull = 0.060;
    Rig rig;
    SECTION("twice") {
        rig.run({.high = 0.015, .full = kFull}, 2);
        CHECK(rig.regular());
    }
    SECTION("one is no two, though it can be told in both ways") {
        rig.run({.full = kFull});
        CHECK(!rig.regular());
    }
    SECTION("what stood before the buffer was known no more has not stood since") {
        rig.run({.stands = 50ms, .high = 0.015, .full = kFull});
        for (int i = 0; i < 2; ++i) {
            rig.run({.high = 0.0});
            rig.run({.stands = 50ms, .high = 0.015, .full = kFull});
        }
        CHECK(!rig.regular());
    }
    SECTION("not from a queue near the full one: what CUBIC gives up there may be all") {
        rig.run({.high = 0.021, .full = 0.024}, 2);
        CHECK(!rig.regular());
    }
    SECTION("not where the full queue is so short that many of our own kind keep it up") {
        rig.run({.high = 0.012, .full = 0.018}, 2);
        CHECK(!rig.regular());
    }
    SECTION("not while we drain") {
        rig.run({.drained = true, .high = 0.015, .full = kFull}, 2);
        CHECK(!rig.regular());
    }
}
