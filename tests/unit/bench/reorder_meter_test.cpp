#include "sim/reorder_meter.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::sim::ReorderMeter;

namespace {
constexpr Instant kStart{1h};
}

TEST_CASE("bytes in order wait for nothing") {
    ReorderMeter meter(kStart);
    for (int i = 1; i <= 10; ++i)
        meter.update(kStart + i * 1ms, 100U * static_cast<unsigned>(i), 100U * static_cast<unsigned>(i));
    CHECK(meter.held() == 0);
    CHECK(meter.most_held() == 0);
    CHECK(meter.mean_wait_s() == 0.0);
    CHECK(meter.longest_wait() == 0ms);
}

TEST_CASE("what came before a missing piece waits for it") {
    ReorderMeter meter(kStart);
    meter.update(kStart + 10ms, 100, 0);  // the second piece
    meter.update(kStart + 20ms, 200, 0);  // the third
    CHECK(meter.held() == 200);
    meter.update(kStart + 40ms, 300, 300);  // the first
    CHECK(meter.held() == 0);
    CHECK(meter.most_held() == 200);
    CHECK(meter.longest_wait() == 30ms);
    // 100 bytes wait 30 ms and 100 bytes wait 20 ms; the means are over 300 bytes and over 40 ms.
    CHECK(meter.mean_wait_s() == Approx(5.0 / 300.0));
    CHECK(meter.mean_held() == Approx(5.0 / 0.04));
}

TEST_CASE("of two paths only the one that is ahead waits") {
    ReorderMeter meter(kStart);
    std::uint64_t received = 0;
    // The fast path has delivered five pieces when the slow path starts to deliver the pieces between them.
    for (int i = 0; i < 5; ++i) meter.update(kStart + i * 1ms, received += 100, 0);
    for (int i = 0; i < 5; ++i) {
        received += 100;
        meter.update(kStart + (50 + i) * 1ms, received, static_cast<std::uint64_t>(i + 1) * 200);
    }
    CHECK(meter.held() == 0);
    CHECK(meter.longest_wait() == 50ms);
    CHECK(meter.mean_wait_s() == Approx(0.025));
}
