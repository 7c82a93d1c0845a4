// Several paths of which one is slow, bloated or faulty: the results of the default scheduler and reinjection.
#include <algorithm>
#include <cstdio>

#include "multipath_rig.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// Stream bits per link bit: datagrams of 1,472 bytes carry 1,441 bytes of a stream and take 1,500 bytes of the link.
constexpr double kPayload = 1441.0 / 1500.0;

const LinkParams kFifty{.bits_per_second = 50'000'000, .delay = 5ms, .queue_bytes = 125'000};
const LinkParams kFast{.bits_per_second = 100'000'000, .delay = 5ms, .queue_bytes = 250'000};
const LinkParams kSlow{.bits_per_second = 10'000'000, .delay = 100ms, .queue_bytes = 250'000};

double mbps(std::uint64_t bytes, Duration time) { return static_cast<double>(bytes) * 8e-6 / to_seconds(time); }

/// Stream bytes sent again for any reason, as a part of all sent.
double resent(const ConnectionStats& stats) {
    return static_cast<double>(stats.stream_bytes_resent) /
           static_cast<double>(stats.stream_bytes_sent + stats.stream_bytes_resent);
}

void delay_up(MultipathRig& rig, std::size_t line, Duration delay) {
    rig.up(line).change([delay](LinkParams& p) { p.delay = delay; });
}

/// Seconds that the transfer of this many bytes takes.
double duration(RigSetup setup, StreamKind kind, std::uint64_t bytes,
                const std::function<void(MultipathRig&)>& script = {}) {
    MultipathRig rig(std::move(setup));
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = bytes, .kind = kind});
    if (script) script(rig);
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    std::uint64_t late = 0;
    for (std::size_t i = 0; i < 2; ++i) late += rig.path(i).reinjected_bytes;
    SIM_CHECK(s, late <= bytes / 20);
    return to_seconds(s.elapsed());
}

struct Fault {
    const char* name;
    std::function<void(LinkParams&)> make;
};

const std::vector<Fault> kFaults{
    {"none", [](LinkParams&) {}},
    {"10 % loss", [](LinkParams& p) { p.loss = 0.1; }},
    {"50 ms jitter",
     [](LinkParams& p) {
         p.reorder = 1.0;
         p.reorder_by = 50ms;
     }},
    {"1 Hz flap", [](LinkParams& p) { p.blackouts = {{.from = 1500ms, .length = 500ms, .period = 1s}}; }},
};

}  // namespace

TEST_CASE("an ordered stream fills two equal paths") {
    MultipathRig rig({.name = "two of 50 Mbit/s", .lines = {kFifty, kFifty}});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 1ULL << 36U, .kind = StreamKind::ordered});
    s.run_for(1s);
    const std::uint64_t before = bulk.receiver->received();
    s.run_for(10s);
    SIM_CHECK(s, mbps(bulk.receiver->received() - before, 10s) >= 94.0);
    SIM_CHECK(s, resent(rig.client().stats()) <= 0.001);
}

TEST_CASE("an ordered stream fills two paths of 10 and 20 ms through a small receive window") {
    // 280 datagrams. The data in flight on both paths, the gap and the return of the credit take 270 at 200 Mbit/s.
    TransportConfig config;
    config.stream_window = config.connection_window = 280 * 1441;
    config.max_memory = 0;
    LinkParams later = kFast;
    later.delay = 10ms;
    MultipathRig rig({.name = "10 and 20 ms", .lines = {kFast, later}, .client = config, .server = config});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 1ULL << 36U, .kind = StreamKind::ordered});
    s.run_for(1s);
    const std::uint64_t before = bulk.receiver->received();
    s.run_for(3s);
    const double got = mbps(bulk.receiver->received() - before, 3s);
    INFO(got);
    SIM_CHECK(s, got >= 175.0);
}

TEST_CASE("one path's delay rises to a second for ten: the other stays full, and both are used after") {
    for (const std::uint64_t seed : {1U, 2U}) {
        MultipathRig rig({.name = "a second more one way", .lines = {kFifty, kFifty}, .seed = seed});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 1ULL << 36U, .kind = StreamKind::ordered});
        s.run_for(3s);
        const std::uint64_t before = bulk.receiver->received();
        delay_up(rig, 1, 1000ms);
        s.run_for(10s);
        SIM_CHECK(s, mbps(bulk.receiver->received() - before, 10s) >= 46.0);
        SIM_CHECK(s, resent(rig.client().stats()) <= 0.05);
        delay_up(rig, 1, 5ms);
        s.run_for(100ms);
        const std::uint64_t other = rig.path(1).delivered_bytes;
        s.run_for(900ms);
        SIM_CHECK(s, rig.path(1).delivered_bytes >= other + 200'000);
        s.run_for(1s);
        const std::uint64_t again = bulk.receiver->received();
        s.run_for(2s);
        SIM_CHECK(s, mbps(bulk.receiver->received() - again, 2s) >= 92.0);
    }
}

TEST_CASE("unequal paths: an ordered stream does at least what the better one does alone, whatever the other does") {
    const std::uint64_t bytes = 60'000'000;
    for (const std::uint64_t window : {std::uint64_t{1} << 20U, std::uint64_t{64} << 20U}) {
        TransportConfig config;
        config.stream_window = window;
        config.max_memory = 0;
        const double alone = duration({.name = "alone", .lines = {kFast}, .client = config, .server = config},
                                      StreamKind::ordered, bytes);
        for (const Fault& fault : kFaults) {
            INFO(fault.name << ", window of " << window);
            LinkParams other = kSlow;
            fault.make(other);
            const RigSetup setup{.name = fault.name, .lines = {kFast, other}, .client = config, .server = config};
            CHECK(duration(setup, StreamKind::ordered, bytes) <= alone * 1.01 + 0.05);
        }
        const RigSetup setup{.name = "bloat", .lines = {kFast, kSlow}, .client = config, .server = config};
        const auto bloat = [](MultipathRig& rig) {
            rig.scenario().at(2s, "a second more", [&rig] { delay_up(rig, 1, 1000ms); });
        };
        CHECK(duration(setup, StreamKind::ordered, bytes, bloat) <= alone * 1.01 + 0.05);
    }
}

TEST_CASE("a path that sinks into a deep queue does not hold up an ordered stream of the better one") {
    LinkParams deep = kSlow;
    deep.queue_bytes = 2'500'000;
    for (const std::uint64_t seed : {1U, 2U}) {
        MultipathRig rig({.name = "deep queue", .lines = {kFast, deep}, .seed = seed});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 1ULL << 36U, .kind = StreamKind::ordered});
        s.run_for(2s);
        rig.change(1, [](LinkParams& p) { p.bits_per_second = 1'000'000; });  // other traffic takes the rest
        for (int i = 0; i < 3; ++i) {
            const std::uint64_t before = bulk.receiver->received();
            s.run_for(4s);
            SIM_CHECK(s, mbps(bulk.receiver->received() - before, 4s) >= 90.0);
        }
        SIM_CHECK(s, resent(rig.client().stats()) <= 0.015);
    }
}

TEST_CASE("unequal paths: an unordered stream gets the sum") {
    MultipathRig rig({.name = "100 and 10 Mbit/s", .lines = {kFast, kSlow}});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 1ULL << 36U});
    s.run_for(1s);
    const std::uint64_t before = bulk.receiver->received();
    s.run_for(8s);
    SIM_CHECK(s, mbps(bulk.receiver->received() - before, 8s) >= 0.95 * kPayload * 110.0);
}

TEST_CASE("a file over a clean and a bloated path ends within 5 % of what both can deliver") {
    LinkParams deep = kFifty;
    deep.queue_bytes = 5'000'000;
    const std::uint64_t bytes = 100'000'000;
    // From 2 s on other traffic leaves 2 Mbit/s of the link, behind a queue of several seconds.
    const auto bloat = [](MultipathRig& rig) {
        rig.scenario().at(2s, "bloat",
                          [&rig] { rig.up(1).change([](LinkParams& p) { p.bits_per_second = 2'000'000; }); });
    };
    const double ideal = 2.0 + (static_cast<double>(bytes) * 8e-6 / kPayload - 200.0) / 52.0;
    const double taken =
        duration({.name = "clean and bloated", .lines = {kFifty, deep}}, StreamKind::unordered, bytes, bloat);
    CHECK(taken <= 1.05 * ideal);
}

TEST_CASE("print the figures of docs/lab/schedulers.md", "[.table]") {
    const auto print = [](RigSetup setup, StreamKind kind, std::vector<Duration> marks,
                          const std::function<void(MultipathRig&)>& script = {}) {
        const std::string name = setup.name;
        MultipathRig rig(std::move(setup));
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 1ULL << 36U, .kind = kind});
        if (script) script(rig);
        s.run_for(marks.front() - s.elapsed());
        std::printf("%-30s", name.c_str());
        for (std::size_t i = 1; i < marks.size(); ++i) {
            const std::uint64_t before = bulk.receiver->received();
            s.run_for(marks[i] - marks[i - 1]);
            std::printf(" %.1f", mbps(bulk.receiver->received() - before, marks[i] - marks[i - 1]));
        }
        std::printf(" Mbit/s, resent %.2f %%\n", 100.0 * resent(rig.client().stats()));
    };
    print({.name = "two of 50", .lines = {kFifty, kFifty}}, StreamKind::ordered, {1s, 11s});
    for (const bool on : {true, false}) {
        for (const char* cc : {"udtx", "cubic"}) {
            TransportConfig config;
            config.reinject = on;
            config.congestion = cc;
            const std::string name = std::string("a second more, ") + cc + (on ? "" : ", off");
            print({.name = name, .lines = {kFifty, kFifty}, .client = config}, StreamKind::ordered,
                  {3s, 13s, 14s, 15s, 16s, 17s, 18s}, [](MultipathRig& rig) {
                      rig.scenario().at(3s, "up", [&rig] { delay_up(rig, 1, 1000ms); });
                      rig.scenario().at(13s, "down", [&rig] { delay_up(rig, 1, 5ms); });
                  });
        }
    }
    for (const auto kind : {StreamKind::unordered, StreamKind::ordered}) {
        print({.name = "alone", .lines = {kFast}}, kind, {1s, 9s});
        for (const Fault& fault : kFaults) {
            LinkParams other = kSlow;
            fault.make(other);
            print({.name = fault.name, .lines = {kFast, other}}, kind, {1s, 9s});
        }
    }
}
