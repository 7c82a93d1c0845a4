#include "recovery/loss_recovery.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Duration;
using udtx::recovery::RttEstimator;

TEST_CASE("RTT: initial values before any sample") {
    const RttEstimator rtt;
    CHECK_FALSE(rtt.has_sample());
    CHECK(rtt.smoothed() == 200ms);
    CHECK(rtt.probe_timeout() == 600ms);  // 200 + 4 x 100
}

TEST_CASE("RTT: weights 1/8 and 1/4, ack delay removed above the minimum only") {
    RttEstimator rtt;
    rtt.add(100ms, 10ms);  // the first sample is the minimum, so nothing is subtracted
    CHECK(rtt.smoothed() == 100ms);
    CHECK(rtt.variance() == 50ms);
    CHECK(rtt.minimum() == 100ms);
    CHECK(rtt.probe_timeout() == 300ms);

    rtt.add(130ms, 10ms);  // 120: var = (3 x 50 + 20) / 4, srtt = (7 x 100 + 120) / 8
    CHECK(rtt.latest() == 120ms);
    CHECK(rtt.variance() == 42500us);
    CHECK(rtt.smoothed() == 102500us);

    rtt.add(105ms, 10ms);  // 95 would be below the minimum
    CHECK(rtt.latest() == 105ms);
    CHECK(rtt.minimum() == 100ms);

    rtt.add(90ms, 0ms);
    CHECK(rtt.minimum() == 90ms);
    rtt.reset();
    CHECK_FALSE(rtt.has_sample());
}

TEST_CASE("RTT: the probe timeout has 1 ms of slack on a steady path") {
    RttEstimator rtt;
    for (int i = 0; i < 200; ++i) rtt.add(10ms, 0ms);
    CHECK(rtt.probe_timeout() == 11ms);
}
