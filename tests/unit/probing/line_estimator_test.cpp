// The sender's evaluation of its receiver's reports.
#include "probing/line_estimate.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::probing;

namespace {

constexpr Instant kStart = Instant(1h);

wire::RateFeedbackFrame report() {
    wire::RateFeedbackFrame frame;
    frame.pair_bytes = 1000;
    frame.arrival_pps = 2'000;
    frame.capacity_pps = 5'000;
    frame.pair_gap_ns = 250'000;
    frame.line_pps = 10'000;
    return frame;
}

/// Trains that were sent with this gap between packets of 1,000 bytes.
TrainMeter departures(Duration gap) {
    TrainMeter meter;
    meter.on_first(kStart);
    for (int i = 1; i < 16; ++i) meter.on_next(kStart + i * gap, 1000);
    meter.finish();
    return meter;
}

}  // namespace

TEST_CASE("line estimate: what is reported, in bytes") {
    LineEstimator estimator;
    const LineEstimate line = estimator.on_report(kStart, report(), TrainMeter());
    CHECK(line.capacity == Rate::bytes_per_second(10e6));
    CHECK(!line.only_least);
    CHECK(line.pair_capacity == Rate::bytes_per_second(5e6));
    CHECK(line.newest_pair == Rate::from_bytes(1000, 250us));
    CHECK(line.arrival_pps == 2'000);
}

TEST_CASE("line estimate: nothing known") {
    LineEstimator estimator;
    const LineEstimate line = estimator.on_report(kStart, {}, departures(1us));
    CHECK(line.capacity.is_zero());
    CHECK(!line.only_least);
    CHECK(line.newest_pair.is_zero());
}

TEST_CASE("line estimate: trains that arrive as fast as they leave tell only of the sender") {
    LineEstimator estimator;
    // The trains of the report arrive 100 us apart.
    const LineEstimate slower = estimator.on_report(kStart + 10ms, report(), departures(79us));
    CHECK(!slower.only_least);
    CHECK(estimator.on_report(kStart + 10ms, report(), departures(81us)).only_least);
    // Old trains are not used.
    const LineEstimate later = estimator.on_report(kStart + 5s, report(), departures(81us));
    CHECK(!later.only_least);
}

TEST_CASE("line estimate: the newest pair is told once, and kept for figures") {
    LineEstimator estimator;
    (void)estimator.on_report(kStart, report(), TrainMeter());
    wire::RateFeedbackFrame without = report();
    without.pair_gap_ns = 0;
    const LineEstimate line = estimator.on_report(kStart + 30ms, without, TrainMeter());
    CHECK(line.newest_pair.is_zero());
    CHECK(estimator.last().newest_pair == Rate::from_bytes(1000, 250us));
    CHECK(estimator.last().capacity == line.capacity);
}

TEST_CASE("line estimate: how fine the receiver's times are, and a card too coarse to tell more than a bound") {
    LineEstimator estimator;
    wire::RateFeedbackFrame coarse = report();
    coarse.line_error = 125;
    coarse.granularity_us = 200;
    const LineEstimate line = estimator.on_report(kStart, coarse, TrainMeter());
    CHECK(line.error == Approx(0.125));
    CHECK(line.granularity == 200us);
    CHECK(!line.only_least);
    coarse.line_error = wire::kWholeError;
    CHECK(estimator.on_report(kStart, coarse, TrainMeter()).only_least);
}

TEST_CASE("probe: a train spans four interrupts of the receiver's card, where that is not longer than it may be") {
    CHECK(fitting_probe(0.0) == kUsualTrainPackets);
    CHECK(fitting_probe(100e-6) == 10);
    CHECK(fitting_probe(10e-6) == kUsualTrainPackets);
    CHECK(fitting_probe(100e-6, 100us) == 10);
    CHECK(fitting_probe(100e-6, 400us) == 16);
    CHECK(fitting_probe(100e-6, 5ms) == 20);
    CHECK(fitting_probe(10e-6, 50us) == kMostTrainPackets);
    CHECK(fitting_probe(600e-6, 5ms) == kPairPackets);
}
