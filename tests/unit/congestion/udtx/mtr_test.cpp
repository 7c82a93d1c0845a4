// udtx's MTR: the receiver's measurement, checked against the delivery rate.
#include "congestion/udtx/seen.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

/// The receiver measures `pps` packets/s of 1,000 bytes, and `delivered` bytes/s were delivered over `interval`.
CongestionFeedback told(Duration at, double pps, double delivered = 0.0, Duration interval = 50ms) {
    CongestionFeedback f;
    f.now = Instant(1h) + at;
    f.line = LineEstimate{.capacity = Rate::bytes_per_second(1000 * pps)};
    if (delivered > 0.0) f.delivery = DeliverySample{Rate::bytes_per_second(delivered), interval, false};
    return f;
}

}  // namespace

TEST_CASE("udtx MTR: falls at once when congested, slowly when not, and never below what arrives") {
    UdtxMtr mtr;
    mtr.on_feedback(told(0ms, 10'000), 0.0);
    CHECK(mtr.mtr() == Approx(10e6));
    mtr.on_feedback(told(10ms, 2'000), 0.1);
    CHECK(mtr.mtr() == Approx(9e6));
    mtr.on_feedback(told(20ms, 2'000), 0.5);
    CHECK(mtr.mtr() == Approx(9e6 / 8 + 2e6 * 7 / 8));
    mtr.on_feedback(told(30ms, 2'000), 0.9);
    CHECK(mtr.mtr() == Approx(2e6));
    mtr.on_feedback(told(40ms, 2'000, 3e6), 0.9);
    CHECK(mtr.mtr() == Approx(3e6));
    mtr.on_feedback(told(50ms, 11'000), 0.9);
    CHECK(mtr.mtr() == Approx(4e6));  // it always rises by an eighth of the difference
}

TEST_CASE("udtx MTR: on a short path what ACKs burst together is not the line's speed") {
    UdtxMtr mtr;
    for (int i = 0; i < 10'000; ++i) {
        // 100 MB/s over rounds of 5 ms with many ACKs each. One ACK in four has the data of four.
        const double delivered = i % 4 == 3 ? 280e6 : 40e6;
        mtr.on_feedback(told(i * 200us, 100'000, delivered, 5ms), 0.0);
    }
    CHECK(mtr.mtr() == Approx(100e6).epsilon(0.05));
}

TEST_CASE("udtx MTR: trains that arrive as fast as they left bound nothing") {
    UdtxMtr mtr;
    const auto as_they_left = [](Duration at, double delivered) {
        CongestionFeedback f = told(at, 40'000, delivered);
        f.line->only_least = true;
        return f;
    };
    mtr.on_feedback(as_they_left(0ms, 0.0), 0.0);
    CHECK(mtr.mtr() == Approx(40e6));  // the measured rate is a lower bound
    mtr.on_feedback(as_they_left(10ms, 15e6), 0.0);
    CHECK(mtr.mtr() == Approx(40e6));
    mtr.on_feedback(as_they_left(20ms, 80e6), 0.9);
    CHECK(mtr.mtr() == Approx(160e6));  // leaves room to probe for more
    CHECK(mtr.seen() == Approx(80e6));
    mtr.limit(60e6);
    CHECK(mtr.seen() == Approx(60e6));
    mtr.unlimit();
    mtr.on_feedback(as_they_left(5s, 40e6), 0.9);  // other flows have started
    CHECK(mtr.mtr() == Approx(80e6));
    mtr.on_feedback(told(6s, 30'000, 20e6), 0.9);  // a slower link
    CHECK(mtr.mtr() == Approx(40e6));
    mtr.on_feedback(told(10s, 30'000, 20e6), 0.9);
    CHECK(mtr.mtr() == Approx(30e6));
}

TEST_CASE("udtx MTR: what was delivered before a pause counts no longer") {
    UdtxMtr mtr;
    mtr.on_feedback(told(0ms, 1'000, 100e6, 1ms), 0.9);
    mtr.on_feedback(told(60s, 1'000, 2e6, 1ms), 0.9);
    CHECK(mtr.mtr() == Approx(2e6));
}
