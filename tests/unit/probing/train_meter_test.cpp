// How fast trains pass. What the receiver makes of them is in line_meter_test.cpp.
#include "probing/train_meter.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::probing;

namespace {

constexpr Instant kStart = Instant(1h);

void pass(TrainMeter& meter, Duration at, std::uint32_t packets, Duration gap) {
    meter.on_first(kStart + at);
    for (std::uint32_t i = 1; i < packets; ++i) meter.on_next(kStart + at + i * gap, 1000);
    meter.finish();
}

}  // namespace

TEST_CASE("train meter: the shortest train that another one confirms") {
    TrainMeter meter;
    CHECK(meter.time_of_byte(kStart) == 0.0);
    pass(meter, 0ms, 16, 4us);
    CHECK(meter.time_of_byte(kStart + 1ms) == Approx(4.0));
    pass(meter, 10ms, 16, 9us);  // put aside in the middle
    pass(meter, 20ms, 16, 2us);  // put aside behind the first
    pass(meter, 30ms, 16, 4us);
    CHECK(meter.time_of_byte(kStart + 40ms) == Approx(4.0));
}

TEST_CASE("train meter: pairs are none, and old ones are forgotten") {
    TrainMeter meter;
    pass(meter, 0ms, 2, 4us);
    pass(meter, 1ms, kLeastTrainPackets - 1, 4us);
    CHECK(meter.time_of_byte(kStart + 2ms) == 0.0);
    pass(meter, 2ms, kLeastTrainPackets, 4us);
    CHECK(meter.time_of_byte(kStart + 3ms) == Approx(4.0));
    CHECK(meter.time_of_byte(kStart + 3s) == 0.0);
}

TEST_CASE("train meter: without a clock between them trains have no speed") {
    TrainMeter meter;
    pass(meter, 0ms, 16, 0us);
    CHECK(meter.time_of_byte(kStart + 1ms) == 0.0);
    TrainMeter coarse(2us);
    pass(coarse, 0ms, 16, 1us);
    CHECK(coarse.time_of_byte(kStart + 1ms) == 0.0);
}
