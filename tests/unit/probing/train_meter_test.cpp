// The rate at which trains pass. line_meter_test.cpp tests the receiver's use of it.
#include "probing/line_estimate.hpp"

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

/// Packets 118 us apart, with interrupts every `period`, shifted by `phase`.
void pass_card(TrainMeter& meter, Duration at, std::uint32_t packets, Duration period, Duration phase) {
    for (std::uint32_t i = 0; i < packets; ++i) {
        const Duration came = at + i * 118us + phase;
        const Instant stamp = kStart + (came + period - 1ns) / period * period;
        if (i == 0)
            meter.on_first(stamp);
        else
            meter.on_next(stamp, 1472);
    }
    meter.finish();
}

}  // namespace

TEST_CASE("train meter: the shortest train that another one confirms") {
    TrainMeter meter;
    CHECK(meter.told(kStart).time_of_byte == 0.0);
    pass(meter, 0ms, 16, 4us);
    CHECK(meter.told(kStart + 1ms).time_of_byte == Approx(4.0));
    pass(meter, 10ms, 16, 9us);  // an outlier: no other train confirms it
    pass(meter, 20ms, 16, 2us);  // too short: no other train confirms it
    pass(meter, 30ms, 16, 4us);
    CHECK(meter.told(kStart + 40ms).time_of_byte == Approx(4.0));
}

TEST_CASE("train meter: pairs are none, and old ones are forgotten") {
    TrainMeter meter;
    pass(meter, 0ms, 2, 4us);
    pass(meter, 1ms, kLeastTrainPackets - 1, 4us);
    CHECK(meter.told(kStart + 2ms).time_of_byte == 0.0);
    pass(meter, 2ms, kLeastTrainPackets, 4us);
    CHECK(meter.told(kStart + 3ms).time_of_byte == Approx(4.0));
    CHECK(meter.told(kStart + 3s).time_of_byte == 0.0);
}

TEST_CASE("train meter: without a clock between them trains have no speed") {
    TrainMeter meter;
    pass(meter, 0ms, 16, 0us);
    CHECK(meter.told(kStart + 1ms).time_of_byte == 0.0);
    TrainMeter coarse(2us);
    pass(coarse, 0ms, 16, 1us);
    CHECK(coarse.told(kStart + 1ms).time_of_byte == 0.0);
}

TEST_CASE("train meter: interrupts that come rarely do not hide the line") {
    for (const Duration period : {125us, 200us, 250us, 400us, 500us}) {
        TrainMeter meter(2us);
        const auto packets = static_cast<std::uint32_t>(std::max<std::int64_t>(8, 4 * period / 118us));
        for (int i = 0; i < 8; ++i) pass_card(meter, i * 200ms, packets, period, i * 37us);
        const TrainMeter::Told told = meter.told(kStart + 1600ms);
        INFO(period.count());
        CHECK(told.time_of_byte == Approx(118e3 / 1472).epsilon(0.1));
        CHECK(told.error > 0.0);
        CHECK(told.error < 0.5);
        CHECK(meter.granularity() > period / 2);
        CHECK(meter.granularity() < 2 * period);
    }
}

TEST_CASE("train meter: two bursts tell only that the line is no slower, and what is resolved takes their place") {
    TrainMeter meter(2us);
    pass_card(meter, 0ms, 16, 2ms, 1ms);
    CHECK(meter.told(kStart + 10ms).error == 1.0);
    CHECK(meter.granularity() == kTrainTime);
    pass_card(meter, 200ms, 64, 2ms, 1ms);
    CHECK(meter.told(kStart + 300ms).error < 0.1);
    CHECK(meter.told(kStart + 300ms).time_of_byte == Approx(118e3 / 1472).epsilon(0.06));
    CHECK(meter.granularity() == 2ms);
    pass_card(meter, 400ms, 16, 2ms, 1ms);  // a bound that is known already
    CHECK(meter.told(kStart + 500ms).error < 0.1);
}

TEST_CASE("train meter: one burst tells nothing, but that trains came") {
    TrainMeter meter(2us);
    CHECK_FALSE(meter.recent(kStart));
    pass(meter, 0ms, 16, 0us);
    CHECK(meter.recent(kStart + 1ms));
    CHECK_FALSE(meter.recent(kStart + 3s));
    CHECK(meter.told(kStart + 1ms).time_of_byte == 0.0);
}

TEST_CASE("train meter: bursts that lie on no line are jitter's: the line may be any faster") {
    TrainMeter meter(2us);
    const auto held_up = [&](Duration at) {
        // Five packets are delayed together, then some arrive with their original spacing, then five more together.
        meter.on_first(kStart + at);
        for (int i = 1; i < 5; ++i) meter.on_next(kStart + at, 1000);
        for (int i = 1; i <= 6; ++i) meter.on_next(kStart + at + 1ms + i * 20us, 1000);
        for (int i = 0; i < 5; ++i) meter.on_next(kStart + at + 2ms, 1000);
        meter.finish();
    };
    held_up(0ms);
    CHECK(meter.told(kStart + 3ms).error == 1.0);
    pass_card(meter, 200ms, 64, 200us, 50us);  // looks like interrupt coalescing, but jitter was seen shortly before
    CHECK(meter.told(kStart + 210ms).error == 1.0);
    for (int i = 0; i < 4; ++i) pass_card(meter, 2300ms + i * 200ms, 64, 200us, 50us);
    CHECK(meter.told(kStart + 3s).error < 0.1);
}
