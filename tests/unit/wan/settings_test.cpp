#include "settings.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::wan;
using Side = ScenarioSettings::Side;

TEST_CASE("wan settings: a line in one argument") {
    ScenarioSettings settings;
    REQUIRE(settings.apply(0ms, Side::both, "rate=100M,delay=30ms,queue=2bdp").ok());
    REQUIRE(
        settings
            .apply(0ms, Side::down, "loss=1%,burst=0.001/0.1/0.5,jitter=300us,coalesce=200us,order=free,reorder=2%/5ms")
            .ok());
    REQUIRE(settings.apply(0ms, Side::up, "queue=64000,duplicate=0.001,cross=50M/2s/1s/5s").ok());
    const auto lines = settings.lines(9);
    REQUIRE(lines.ok());
    REQUIRE(lines->down.phases.size() == 1);
    const LineParams& down = lines->down.phases[0].params;
    const LineParams& up = lines->up.phases[0].params;
    CHECK(down.rate == Rate::bits_per_second(100e6));
    CHECK(down.delay == 30ms);
    CHECK(down.queue_bytes == 1'500'000);  // 2 x 100 Mbit/s x 60 ms
    CHECK(down.loss == Approx(0.01));
    CHECK(down.burst.enter == Approx(0.001));
    CHECK(down.burst.leave == Approx(0.1));
    CHECK(down.burst.loss_in_bad == Approx(0.5));
    CHECK(down.jitter == 300us);
    CHECK(down.coalesce == 200us);
    CHECK_FALSE(down.keep_order);
    CHECK(up.keep_order);
    CHECK(down.reorder == Approx(0.02));
    CHECK(down.reorder_by == 5ms);
    CHECK(up.loss == Approx(0.0));
    CHECK(up.queue_bytes == 64'000);
    CHECK(up.duplicate == Approx(0.001));
    CHECK(up.cross.rate == Rate::bits_per_second(50e6));
    CHECK(up.cross.on == 2s);
    CHECK(up.cross.off == 1s);
    CHECK(up.cross.from == 5s);
    CHECK(lines->down.seed != lines->up.seed);
}

TEST_CASE("wan settings: changes keep what they do not name") {
    ScenarioSettings settings;
    REQUIRE(settings.apply(0ms, Side::both, "rate=100M,delay=30ms,queue=1bdp").ok());
    REQUIRE(settings.apply_change("5s:down:rate=50M").ok());
    REQUIRE(settings.apply_change("5s:up:rate=0").ok());
    REQUIRE(settings.apply_change("7s:both:rate=20M").ok());
    REQUIRE(settings.apply_host("3:delay=90ms").ok());
    const auto lines = settings.lines(1);
    REQUIRE(lines.ok());
    REQUIRE(lines->down.phases.size() == 3);
    CHECK(lines->down.phases[1].from == 5s);
    CHECK(lines->down.phases[1].params.rate == Rate::bits_per_second(50e6));
    CHECK(lines->down.phases[1].params.delay == 30ms);
    CHECK(lines->down.phases[1].params.queue_bytes == 375'000);
    CHECK(lines->up.phases[1].params.rate.is_zero());
    CHECK(lines->up.phases[2].params.rate == Rate::bits_per_second(20e6));
    CHECK(lines->up.extra_delay[3] == 90ms);
    CHECK(settings.apply_change("6s:down:rate=1M").error().code == ErrorCode::invalid_argument);
}

TEST_CASE("wan settings: what cannot be read is refused") {
    ScenarioSettings settings;
    for (const char* text : {"rate", "rate=x", "rate=-1M", "delay=20", "delay=1e9s", "queue=x", "queue=nan", "loss=2",
                             "loss=101%", "burst=1/x", "jitter=", "reorder=1%", "cross=5M/0s/1s", "speed=3"}) {
        INFO(text);
        CHECK_FALSE(settings.apply(0ms, Side::down, text).ok());
    }
    for (const char* text : {"5s:left:rate=1M", "5:down:rate=1M", "rate=1M"})
        CHECK_FALSE(settings.apply_change(text).ok());
    for (const char* text : {"256:delay=1ms", "1:loss=1%", "1:delay=x"}) CHECK_FALSE(settings.apply_host(text).ok());

    ScenarioSettings unlimited;
    REQUIRE(unlimited.apply(0ms, Side::both, "queue=1bdp").ok());
    CHECK_FALSE(unlimited.lines(1).ok());
}
