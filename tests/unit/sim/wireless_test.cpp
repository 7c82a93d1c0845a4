// Lines that change by themselves: what a seed makes is what the comment of each line says.
#include "sim/wireless.hpp"

#include <algorithm>
#include <array>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

std::uint64_t rate_at(const WirelessLine& line, Duration time) {
    return std::prev(std::ranges::upper_bound(line.rates, time, {}, &RateStep::from))->bits_per_second;
}

/// The steps come in order. Each is a suspension or lies in [low, high], and the line does not end suspended.
void check_rates(const WirelessLine& line, double low, double high) {
    REQUIRE(line.rates.front().from == Duration::zero());
    CHECK(std::ranges::is_sorted(line.rates, std::ranges::less_equal{}, &RateStep::from));
    for (const RateStep& step : line.rates) {
        const double mbps = static_cast<double>(step.bits_per_second) / 1e6;
        CHECK((step.bits_per_second == 0 || (mbps >= low - 1e-3 && mbps <= high + 1e-3)));
    }
    CHECK(line.rates.back().bits_per_second > 0);
}

bool same(const WirelessLine& a, const WirelessLine& b) {
    return std::ranges::equal(a.rates, b.rates, [](const RateStep& x, const RateStep& y) {
        return x.from == y.from && x.bits_per_second == y.bits_per_second;
    });
}

}  // namespace

TEST_CASE("wireless: a Starlink-like line has a handover each 15 s with an outage, another delay and another loss") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const WirelessLine line = starlink(seed, 72s);
        check_rates(line, 10.0, 70.0);
        CHECK(same(line, starlink(seed, 72s)));
        CHECK_FALSE(same(line, starlink(seed + 1, 72s)));
        REQUIRE(line.sections.size() == 5);
        REQUIRE(line.blackouts.size() == 4);
        for (std::size_t i = 0; i < line.blackouts.size(); ++i) {
            const Blackout& outage = line.blackouts[i];
            CHECK(outage.from == 12s + 15s * static_cast<std::int64_t>(i));
            CHECK(outage.length >= 100ms);
            CHECK(outage.length <= 200ms);
            CHECK(rate_at(line, outage.from) == 0);
            CHECK(rate_at(line, outage.from + outage.length) > 0);
            CHECK(line.sections[i + 1].from == outage.from);
        }
        for (const WirelessLine::Section& section : line.sections) {
            CHECK(section.longer <= 15ms);
            CHECK(section.burst.mean() >= 0.0049);
            CHECK(section.burst.mean() <= 0.0601);
        }
    }
}

TEST_CASE("wireless: a 5G line falls from hundreds of Mbit/s to a few within 100 ms and comes back") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const WirelessLine line = millimetre_wave(seed, 40s);
        check_rates(line, 3.0, 400.0);
        CHECK(same(line, millimetre_wave(seed, 40s)));
        unsigned falls = 0;
        for (Duration t = 100ms; t < 40s; t += 100ms)
            if (rate_at(line, t - 100ms) > 70'000'000 && rate_at(line, t) < 14'000'000) ++falls;
        CHECK(falls > 3);
        CHECK(rate_at(line, 10s) == 0);
        CHECK(rate_at(line, 10s + 80ms) > 0);
    }
}

TEST_CASE("wireless: a rig that is attached carries what the line says, less what is lost") {
    const WirelessLine line = starlink(3, 30s);
    FlowRigSetup setup = line.setup(3);
    setup.flows = {{.bytes = 1}};
    setup.cross = {.bits_per_second = 80'000'000, .from = 0s, .on = 1s, .off = 0s};  // more than the line carries
    FlowRig rig(setup);
    line.attach(rig);
    rig.run_for(30s);
    const auto& counters = rig.bottleneck().counters();
    const double bytes = static_cast<double>(counters.delivered_bytes + 28 * counters.delivered);
    // The losses lie before the queue, which stays full, so they take nothing from the line.
    CHECK(bytes / static_cast<double>(bytes_between(line.rates, 0s, 30s)) == Approx(1.0).epsilon(0.03));
    CHECK(line.carries(0s, 30s) < static_cast<double>(bytes_between(line.rates, 0s, 30s)) * 0.995);
    CHECK(rig.utilisation(1s, 30s) == Approx(1.0).epsilon(0.03));
    CHECK(counters.dropped_blackout > 0);
    CHECK(counters.dropped_burst > 0);
    CHECK(rig.bottleneck().params().delay == line.sections.back().longer);
}

TEST_CASE("wireless: the Wi-Fi jitter has its mean") {
    for (const Duration mean : {7ms, 12ms, 40ms}) {
        Prng prng(1);
        const auto law = wifi_jitter(mean);
        double sum = 0.0;
        constexpr int kDraws = 200'000;
        for (int i = 0; i < kDraws; ++i) sum += to_seconds(law(prng));
        CHECK(sum / kDraws == Approx(to_seconds(mean)).epsilon(0.06));
    }
}

TEST_CASE("wireless: a TCP flow with a size ends, and its time is known") {
    FlowRig rig({.name = "sized", .rtt = 20ms, .flows = {{.cc = kTcpBbr, .bytes = 1'000'000}, {.cc = kTcpBbr}}});
    rig.run_for(5s);
    REQUIRE(rig.completed(0));
    CHECK(*rig.completed(0) > 80ms);
    CHECK(*rig.completed(0) < 3s);
    CHECK_FALSE(rig.completed(1));
    CHECK(rig.goodput(0, 4s, 5s).is_zero());
}
