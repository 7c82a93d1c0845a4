#include "probing/line_estimate.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::probing::LineMeter;
using udtx::probing::LineReport;

namespace {

struct Line {
    LineMeter meter;
    Instant now = Instant(1s);
    PacketNumber number = 0;

    void arrive(Duration after, bool second = false, std::uint32_t bytes = 1000, bool coalesced = false) {
        now += after;
        meter.on_arrival({now, number++, bytes, second, coalesced});
    }
    void pair(Duration gap, std::uint32_t bytes = 1000) {
        arrive(1ms, false, bytes);
        arrive(gap, true, bytes);
    }
};

}  // namespace

TEST_CASE("packet pair: nothing known at the start") {
    Line line;
    const LineReport report = line.meter.take_report();
    CHECK(report.arrival_pps == 0.0);
    CHECK(report.capacity_pps == 0.0);
    CHECK(report.pair_gap == 0ns);
}

TEST_CASE("packet pair: capacity is the mean of the median and what lies within a factor of 8") {
    Line line;
    for (const Duration gap : {10us, 10us, 20us, 80us, 1000us}) line.pair(gap);
    // Median 20: 2.5 < x < 160 keeps 10, 10, 20 and 80. With the median again: (20 + 10 + 10 + 20 + 80) / 5 = 28 us.
    const LineReport report = line.meter.take_report();
    CHECK(report.capacity_pps == Approx(1e6 / 28));
    CHECK(report.pair_gap == 1000us);  // the newest gap, unfiltered
    CHECK(report.pair_bytes == 1000);
    const LineReport again = line.meter.take_report();
    CHECK(again.pair_gap == 0us);  // reported once
    CHECK(again.capacity_pps == Approx(1e6 / 28));
}

TEST_CASE("packet pair: bounds are strict") {
    Line line;
    for (const Duration gap : {16us, 16us, 16us, 2us, 128us}) line.pair(gap);  // exactly median / 8 and 8 x median
    CHECK(line.meter.take_report().capacity_pps == Approx(1e6 / 16));
}

TEST_CASE("packet pair: the window holds 64") {
    Line line;
    for (int i = 0; i < 64; ++i) line.pair(100us);
    for (int i = 0; i < 64; ++i) line.pair(50us);
    CHECK(line.meter.take_report().capacity_pps == Approx(20'000));
}

TEST_CASE("packet pair: samples that say nothing about the line are discarded") {
    Line line;
    line.arrive(1ms);
    SECTION("a number in between is missing") {
        ++line.number;
        line.arrive(10us, true);
    }
    SECTION("coalesced second") { line.arrive(10us, true, 1000, true); }
    SECTION("coalesced first") {
        line.arrive(1ms, false, 1000, true);
        line.arrive(10us, true);
    }
    SECTION("below 2 us") { line.arrive(1999ns, true); }
    SECTION("not a pair") { line.arrive(10us, false); }
    CHECK(line.meter.take_report().capacity_pps == 0.0);
    CHECK(line.meter.take_report().pair_gap == 0ns);
}

TEST_CASE("packet pair: a change of the datagram size keeps the window") {
    Line line;
    for (int i = 0; i < 10; ++i) line.pair(10us, 1000);
    line.pair(80us, 8000);  // the same link rate
    const LineReport report = line.meter.take_report();
    CHECK(report.pair_bytes == 8000);
    CHECK(report.capacity_pps == Approx(12'500));
}

TEST_CASE("packet pair: the line rate of pairs is their 20th percentile") {
    Line line;
    for (int i = 0; i < 3; ++i) line.pair(10us);
    for (int i = 0; i < 7; ++i) line.pair(40us);  // with cross traffic between the packets
    CHECK(line.meter.take_report().line_pps == Approx(100'000));
}

TEST_CASE("packet pair: on a slow line the line rate is that of the last second, of eight pairs at least") {
    Line line;
    for (int i = 0; i < 64; ++i) line.pair(10us);
    for (int i = 0; i < 9; ++i) {
        line.arrive(100ms);
        line.pair(100us);
    }
    CHECK(line.meter.take_report().line_pps == Approx(100'000));
    line.arrive(150ms);
    line.pair(100us);
    CHECK(line.meter.take_report().line_pps == Approx(10'000));
    line.arrive(20s);
    CHECK(line.meter.take_report().line_pps == Approx(10'000));
}

TEST_CASE("packet train: the line rate is that of eight packets and more") {
    Line line;
    const auto train = [&line](int packets, Duration gap) {
        line.arrive(1ms);
        for (int i = 1; i < packets; ++i) line.arrive(gap, true);
    };
    line.pair(100us);
    SECTION("seven are too few") {
        train(7, 10us);
        line.arrive(1ms);
        // The first two packets count as a pair: 10 and 100 us, of which the 20th percentile is the smaller.
        CHECK(line.meter.take_report().line_pps == Approx(100'000));
        CHECK(line.meter.take_report().capacity_pps < 50'000);
    }
    SECTION("one blurred gap among many hardly shows") {
        line.arrive(1ms);
        line.arrive(2us, true);
        line.arrive(38us, true);
        for (int i = 3; i < 16; ++i) line.arrive(20us, true);
        CHECK(line.meter.take_report().line_pps == Approx(50'000));
    }
    SECTION("the shortest that two agree on counts: interruptions only lengthen a train") {
        for (const Duration gap : {20us, 90us, 70us, 21us, 50us, 60us}) train(16, gap);
        line.arrive(1ms);
        CHECK(line.meter.take_report().line_pps == Approx(1e6 / 21));
    }
    SECTION("a single short one is not believed") {
        for (const Duration gap : {10us, 20us, 20us, 21us}) train(16, gap);
        line.arrive(1ms);
        CHECK(line.meter.take_report().line_pps == Approx(50'000));
    }
    SECTION("what was lost before the queue took no time on the line") {
        line.arrive(1ms);
        for (int i = 1; i < 12; ++i) {
            if (i % 4 == 0) ++line.number;
            line.arrive(20us, true);
        }
        CHECK(line.meter.take_report().line_pps == Approx(50'000));
    }
    SECTION("what a card hands over in bursts is measured from the end of one to the end of another") {
        // Packets 20 us apart with an interrupt each 50 us. The first burst has one packet, and the last is incomplete.
        line.arrive(1ms);
        for (const Duration gap : {30us, 0us, 50us, 0us, 0us, 50us, 0us, 50us, 0us, 0us, 50us}) line.arrive(gap, true);
        const LineReport report = line.meter.take_report();
        CHECK(report.line_pps == Approx(50'000).epsilon(1.0 / 7.0));
        CHECK(report.granularity == 45us);
        CHECK(report.line_error > 0.0);
    }
    SECTION("a train of one burst takes the pairs' place all the same: they tell of one interrupt") {
        line.arrive(1ms);
        for (int i = 1; i < 16; ++i) line.arrive(0us, true);
        line.arrive(1ms);
        CHECK(line.meter.take_report().line_pps == 0.0);
    }
    SECTION("a coalesced packet spoils it") {
        line.arrive(1ms);
        for (int i = 1; i < 16; ++i) line.arrive(20us, true, 1000, i == 9);
        line.arrive(1ms);
        CHECK(line.meter.take_report().line_pps == Approx(50'000));  // only the pair at its start counts
        CHECK(line.meter.take_report().capacity_pps < 50'000);
    }
    SECTION("old trains make room for pairs") {
        train(16, 20us);
        line.arrive(3s);
        line.pair(10us);
        CHECK(line.meter.take_report().line_pps == Approx(100'000));
    }
}

TEST_CASE("arrival speed: as UDT4 where every packet is an interval") {
    Line line;
    line.arrive(0ms);
    for (int i = 0; i < 9; ++i) line.arrive(1ms);  // 9 arrivals complete 8 intervals
    CHECK(line.meter.take_report().arrival_pps == 0.0);
    line.arrive(1ms);
    CHECK(line.meter.take_report().arrival_pps == Approx(1000));
    for (int i = 0; i < 7; ++i) line.arrive(3ms);
    // 16 intervals: 9 of 1 ms, and 7 of 3 ms of which the last is still open: 10 x 1 ms, 6 x 3 ms; median 1 ms.
    CHECK(line.meter.take_report().arrival_pps == Approx(16.0 / 0.028));
}

TEST_CASE("arrival speed: unknown when not more than half of the intervals agree") {
    Line line;
    line.arrive(0ms);
    for (int i = 0; i < 8; ++i) line.arrive(1ms);
    for (int i = 0; i < 9; ++i) line.arrive(20ms);
    CHECK(line.meter.take_report().arrival_pps == 0.0);
}

TEST_CASE("arrival speed: batches that share a stamp do not hide the line") {
    Line line;
    line.arrive(0ms);
    for (int batch = 0; batch < 40; ++batch) {
        line.arrive(440us);
        for (int i = 1; i < 44; ++i) line.arrive(0us, false, 1000, true);
    }
    CHECK(line.meter.take_report().arrival_pps == Approx(100'000));
}

TEST_CASE("arrival speed: paced bursts at line rate give the mean, not the line") {
    Line line;
    line.arrive(0ms);
    for (int burst = 0; burst < 100; ++burst) {
        line.arrive(240us);
        line.arrive(10us);
    }
    CHECK(line.meter.take_report().arrival_pps == Approx(8000).epsilon(0.02));
}
