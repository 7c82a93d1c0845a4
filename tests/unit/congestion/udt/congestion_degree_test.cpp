// Expected values were computed by hand from algorithms 1 and 2 of the paper (docs/lab/controllers.md).
#include "congestion/udt.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

Rate mbps(double v) { return Rate::bits_per_second(v * 1e6); }

/// Feeds one raw pair estimate per SYN.
struct Pairs {
    CongestionDegreeMtr filter{0.3, 0.7};
    Instant now = Instant(1s);
    Rate mtr;
    double next(double estimate) {
        now += kSynInterval;
        mtr = filter.update(mtr, {.now = now, .filtered = mbps(999), .raw = mbps(estimate)});
        return mtr.bps() / 1e6;
    }
};

}  // namespace

TEST_CASE("cd: the degree is the place of the newest delay between the least and the greatest") {
    CongestionDegree cd;
    const Instant t(1s);
    CHECK(cd.value() == 0.0);
    CHECK(cd.add(t, 100) == 0.0);  // least = greatest
    CHECK(cd.add(t, 200) == 1.0);
    CHECK(cd.add(t, 125) == Approx(0.25));
    CHECK(cd.add(t, 50) == 0.0);
    CHECK(cd.add(t, 125) == Approx(0.5));
}

TEST_CASE("cd: values count for 500 values, and for five seconds") {
    CongestionDegree cd;
    Instant t(1s);
    cd.add(t, 1000);
    for (std::size_t i = 0; i < CongestionDegree::kValues - 2; ++i) cd.add(t, 100);
    CHECK(cd.add(t, 200) == Approx(100.0 / 900.0));  // the 500th value: the first still counts
    CHECK(cd.add(t, 200) == 1.0);                    // the first no longer counts
    t += CongestionDegree::kMaxAge + 1ns;
    CHECK(cd.add(t, 150) == 0.0);  // the only value
}

TEST_CASE("cd: an estimate below the MTR counts by the tier of its degree") {
    Pairs p;
    CHECK(p.next(100) == Approx(100));  // the first estimate counts as it is
    CHECK(p.next(50) == Approx(50));    // D = D_max: CD 1 > beta
    // Above the MTR: UDT's smoothing, regardless of the degree.
    CHECK(p.next(100) == Approx(0.875 * 50 + 0.125 * 100));
    for (int i = 0; i < 200; ++i) p.next(100);
    CHECK(p.mtr.bps() / 1e6 == Approx(100));
    // D is between 1/100 and 1/50. 1/66.67 is in the middle, 1/90.9 at a tenth of the range.
    CHECK(p.next(1.0 / 0.015) == Approx(0.125 * 100 + 0.875 / 0.015));
    for (int i = 0; i < 200; ++i) p.next(100);
    CHECK(p.next(1.0 / 0.011) == Approx(0.875 * 100 + 0.125 / 0.011));
}

TEST_CASE("cd: the thresholds themselves belong to the middle tier, and both are options") {
    for (const double estimate : {80.0, 64.0}) {  // with D from 1/100 to 1/50: CD is 0.25 and 0.5625
        const double degree = 100.0 / estimate - 1.0;
        CongestionDegreeMtr at_alpha(degree - 1e-9, 0.99);
        CongestionDegreeMtr at_beta(0.01, degree + 1e-9);
        CongestionDegreeMtr below_alpha(degree + 1e-9, 0.99);
        CongestionDegreeMtr above_beta(0.01, degree - 1e-9);
        const auto ends_at = [&](CongestionDegreeMtr& filter) {
            Instant now(1s);
            for (const double raw : {50.0, 100.0}) (void)filter.update(mbps(100), {.now = now, .raw = mbps(raw)});
            return filter.update(mbps(100), {.now = now, .raw = mbps(estimate)}).bps() / 1e6;
        };
        CHECK(ends_at(at_alpha) == Approx(12.5 + 0.875 * estimate));
        CHECK(ends_at(at_beta) == Approx(12.5 + 0.875 * estimate));
        CHECK(ends_at(below_alpha) == Approx(87.5 + 0.125 * estimate));
        CHECK(ends_at(above_beta) == Approx(estimate));
    }
}

TEST_CASE("cd: without a new pair nothing changes; the receiver's median is not looked at") {
    CongestionDegreeMtr filter(0.3, 0.7);
    CHECK(filter.update(mbps(80), {.now = Instant(1s), .filtered = mbps(20)}) == mbps(80));
    CHECK(filter.update(Rate(), {.now = Instant(1s), .filtered = mbps(20)}).is_zero());
}

TEST_CASE("cd: within the controller the newest pair of a SYN counts, even of an earlier ACK") {
    CongestionOptions options;
    options.datagram_bytes = 1000;
    const auto made = make_congestion_controller("cd", options);
    REQUIRE(made.ok());
    CongestionController& cd = *made.value();
    CongestionFeedback feedback;
    feedback.now = Instant(1s);
    const auto report = [&](Duration later, Duration gap) {
        feedback.now += later;
        feedback.line =
            LineEstimate{.pair_capacity = Rate::bytes_per_second(5e6), .newest_pair = Rate::from_bytes(1000, gap)};
        cd.on_feedback(feedback);
        return cd.report();
    };
    CHECK(report(0ms, 100us).mtr.bps() == Approx(80e6));
    CHECK(report(4ms, 200us).mtr.bps() == Approx(80e6));  // the SYN has not ended
    const CongestionReport after = report(6ms, 0us);
    CHECK(after.mtr.bps() == Approx(40e6));
    CHECK(after.congestion_degree == 1.0);
}
