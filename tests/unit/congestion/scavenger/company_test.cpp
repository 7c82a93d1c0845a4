#include "congestion/scavenger.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr Duration kMost = 5ms;
constexpr Duration kRtt = 50ms;

struct Line {
    ScavengerCompany company;
    Instant now{Duration(1s)};

    void until_trial() {
        for (int i = 0; i < 1000 && !company.trial(); ++i) rounds(1, 0.1, idle_queue);
        REQUIRE(company.trial());
    }

    Duration idle_queue{1ms};

    void rounds(int count, double share, Duration queue) {
        for (int i = 0; i < count; ++i) {
            now += kRtt;
            company.on_round({.now = now, .rtt = kRtt, .longest = queue, .share = share});
            company.on_feedback(now, queue, kMost);
        }
    }
};

}  // namespace

TEST_CASE("company: alone it may keep its queue, with less than 0.6 of the line none, until it has 0.8 again") {
    Line line;
    line.rounds(20, 0.7, 4ms);
    CHECK_FALSE(line.company.present());
    CHECK(line.company.target(kMost) == kMost);
    line.rounds(20, 0.5, 4ms);
    CHECK(line.company.present());
    CHECK(line.company.target(kMost) < 1ms);
    line.rounds(20, 0.7, 4ms);
    CHECK(line.company.present());
    line.rounds(20, 0.9, 4ms);
    CHECK_FALSE(line.company.present());
}

TEST_CASE("company: a round trip that tells of no share changes nothing") {
    Line line;
    for (int i = 0; i < 100; ++i) line.company.on_round({.now = line.now, .rtt = kRtt, .longest = 4ms, .share = {}});
    CHECK_FALSE(line.company.present());
}

TEST_CASE("company: after half a minute it is tried for 64 round trips what there is to be had") {
    Line line;
    line.rounds(20, 0.1, 1ms);
    const Instant before = line.now;
    line.until_trial();
    CHECK(line.now - before > 28s);
    CHECK(line.now - before < 31s);
    CHECK(line.company.target(kMost) == kMost);
    line.rounds(63, 0.1, 1ms);
    CHECK(line.company.trial());
    line.rounds(2, 0.1, 1ms);
    CHECK_FALSE(line.company.trial());
}

TEST_CASE("company: a trial ends at a queue that is not its own, and when the queue overflows") {
    Line line;
    line.until_trial();
    line.rounds(1, 0.1, 2 * kMost + 1ms);
    CHECK_FALSE(line.company.trial());
    line.until_trial();
    line.company.on_overflow(line.now);
    line.rounds(1, 0.1, 1ms);
    CHECK_FALSE(line.company.trial());
}

TEST_CASE("company: beside one that keeps the queue of a flow that is alone a trial aims at twice that") {
    Line line;
    line.idle_queue = 4ms;
    line.until_trial();
    CHECK(line.company.target(kMost) == 2 * kMost);
}

TEST_CASE("company: growth is careful beside others, and fast where the queue has been empty for long") {
    Line line;
    CHECK(line.company.growth(line.now, 0.05) == 0.05);
    line.rounds(20, 0.1, 1ms);
    CHECK(line.company.growth(line.now, 0.05) < 0.03);
    line.rounds(80, 0.1, 0ms);
    CHECK(line.company.growth(line.now, 0.05) < 0.03);
    line.company.on_overflow(line.now);  // an overflow without measurable delay
    line.rounds(80, 0.1, 0ms);
    CHECK(line.company.growth(line.now, 0.05) < 0.03);
    line.rounds(40, 0.1, 0ms);
    CHECK(line.company.growth(line.now, 0.05) > 0.1);
}
