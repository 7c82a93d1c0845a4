// Fast links, where data waits until it fills a system call. It does so whatever wakes the sender in between, and no
// data waits for a batch that cannot fill.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "multipath_rig.hpp"
#include "sim/check.hpp"
#include "sim/flows.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

LinkParams fast_line(std::uint64_t bits_per_second, Duration delay) {
    LinkParams line;
    line.bits_per_second = bits_per_second;
    line.delay = delay;
    line.queue_bytes = 4'000'000;
    return line;
}

/// Models a busy machine: every 20 us some event, such as an ACK or a finished disk read, makes the sender check for
/// work.
void look_often(Scenario& s) {
    s.events().call_at(s.events().now() + 20us, [&s] {
        s.client().pump();
        look_often(s);
    });
}

/// Mean packets per batch of the client, over a tenth of a second after the start.
double batch(const TransportConfig& config, const LinkParams& line) {
    ScenarioSetup setup = symmetric("batches", line);
    setup.client = config;
    Scenario s(setup);
    const Bulk bulk = start_bulk(s, {.bytes = 1ULL << 40U});
    s.run_for(100ms);
    look_often(s);
    const HostCounters before = s.client().counters();
    const std::uint64_t came = bulk.receiver->received();
    s.run_for(100ms);
    const HostCounters& after = s.client().counters();
    const double mbps = Rate::from_bytes(bulk.receiver->received() - came, 100ms).bps() / 1e6;
    const double packets = static_cast<double>(after.datagrams_sent - before.datagrams_sent);
    const double batches = static_cast<double>(after.batches_sent - before.batches_sent);
    UNSCOPED_INFO(mbps << " Mbit/s, " << packets / batches << " packets a batch");
    return packets / batches;
}

struct CarrierOptions {
    std::string name;
    std::function<void(TransportConfig&)> configure;
    double more =
        0.0;  // s; upper bound of the time beyond that at the link's rate or the cap: the start, the last ACK's timer
};

// At 4 Gbit/s a burst has two batches, at 2.1 Gbit/s barely one.
const std::vector<CarrierOptions> kWays{
    {"udtx", [](TransportConfig& c) { c.congestion = "udtx"; }, 0.09},
    {"cubic", [](TransportConfig& c) { c.congestion = "cubic"; }, 0.25},
    {"bbr", [](TransportConfig& c) { c.congestion = "bbr"; }, 0.1},
    {"cap of 4 Gbit/s", [](TransportConfig& c) { c.max_rate = Rate::bits_per_second(4e9); }, 0.06},
    {"cap of 2.1 Gbit/s", [](TransportConfig& c) { c.max_rate = Rate::bits_per_second(2.1e9); }, 0.06},
    {"fixed at 4 Gbit/s",
     [](TransportConfig& c) {
         c.policy = Policy::fixed;
         c.max_rate = Rate::bits_per_second(4e9);
     },
     0.016},
};

/// Time from the end of the handshake to the last acknowledgement, s.
double seconds_for(MultipathRig& rig, const BulkOptions& options) {
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start(options);
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
    return to_seconds(*bulk.sender->delivered_at() - *rig.client().connected_at);
}

}  // namespace

TEST_CASE("a fast line's batches are whole, whoever wakes the sender up in between") {
    TransportConfig capped;
    capped.max_rate = Rate::bits_per_second(4e9);
    // Measured: 33 packets. A packet pair each millisecond takes two calls; if it broke a batch, the mean would be 25.
    CHECK(batch(capped, fast_line(10'000'000'000, 500us)) > 31.0);
    TransportConfig fixed = capped;
    fixed.policy = Policy::fixed;
    CHECK(batch(fixed, fast_line(10'000'000'000, 500us)) > 31.0);
}

TEST_CASE("below 2 Gbit/s nothing waits for a batch") {
    TransportConfig capped;
    capped.max_rate = Rate::bits_per_second(1.9e9);
    CHECK(batch(capped, fast_line(10'000'000'000, 500us)) < 22.0);
}

TEST_CASE("nothing stalls on a fast line: neither its end, nor small windows, caps, late disks, nor several paths") {
    const CarrierOptions& ways = kWays.at(GENERATE(0U, 1U, 2U, 3U, 4U, 5U));
    TransportConfig config;
    ways.configure(config);
    for (const Duration delay : {Duration(25us), Duration(1ms)}) {
        for (const std::uint64_t bytes : {1ULL, 63'000ULL, 65'000ULL, 1'000'001ULL, 20'000'000ULL}) {
            for (const std::size_t paths : {1U, 2U}) {
                const LinkParams line = fast_line(10'000'000'000, delay);
                MultipathRig rig({.name = ways.name, .lines = std::vector(paths, line), .client = config});
                const double seconds = seconds_for(rig, {.bytes = bytes});
                const double rate = std::min(10e9, config.max_rate.bps());
                const double least = static_cast<double>(bytes) * 8.0 / rate;
                INFO(ways.name << ", " << paths << " paths, " << bytes << " bytes, " << to_seconds(delay) * 1e3
                               << " ms: " << seconds * 1e3 << " ms, at least " << least * 1e3);
                CHECK(seconds < least + ways.more);
            }
        }
    }
}

TEST_CASE("print how long transfers take on fast lines", "[.table]") {
    for (const CarrierOptions& ways : kWays) {
        TransportConfig config;
        ways.configure(config);
        for (const Duration delay : {Duration(25us), Duration(1ms)}) {
            for (const std::uint64_t bytes : {1ULL, 63'000ULL, 65'000ULL, 1'000'001ULL, 20'000'000ULL}) {
                std::printf("%-20s %5.0f us %9llu bytes:", ways.name.c_str(), to_seconds(delay) * 1e6,
                            static_cast<unsigned long long>(bytes));
                for (const std::size_t paths : {1U, 2U, 3U}) {
                    const LinkParams line = fast_line(10'000'000'000, delay);
                    MultipathRig rig({.name = ways.name, .lines = std::vector(paths, line), .client = config});
                    std::printf(" %8.3f ms", seconds_for(rig, {.bytes = bytes}) * 1e3);
                    for (const Duration late : {Duration(300us)}) {
                        MultipathRig slow({.name = ways.name, .lines = std::vector(paths, line), .client = config});
                        std::printf(" (%.3f)", seconds_for(slow, {.bytes = bytes, .writer_late = late}) * 1e3);
                    }
                }
                std::printf("\n");
            }
        }
    }
}
