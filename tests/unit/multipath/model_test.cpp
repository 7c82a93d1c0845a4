#include "unit/multipath/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Duration;
using udtx::path_scheduler_names;
using udtx::StreamKind;
using udtx::multipath::test::Model;
using udtx::multipath::test::ModelOptions;
using udtx::multipath::test::ModelPath;
using udtx::multipath::test::ModelResult;

namespace {

ModelOptions with(const std::string& scheduler, bool reinject, double receive_packets, double seconds = 10) {
    ModelOptions options;
    options.scheduler = scheduler;
    options.reinject = reinject;
    options.receive_packets = receive_packets;
    options.seconds = seconds;
    return options;
}

double mean(const ModelResult& result, std::size_t from, std::size_t to) {
    return std::accumulate(result.mbps_by_second.begin() + static_cast<std::ptrdiff_t>(from),
                           result.mbps_by_second.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
           static_cast<double>(to - from);
}

ModelResult unequal(const std::string& scheduler, bool reinject, Duration slow, double receive_packets) {
    return Model(with(scheduler, reinject, receive_packets),
                 {ModelPath{.mbps = 100, .rtt = 10ms}, ModelPath{.mbps = 100, .rtt = slow}})
        .run();
}

ModelResult file(const std::string& scheduler, bool reinject) {
    ModelOptions options = with(scheduler, reinject, 0);
    options.kind = StreamKind::unordered;
    options.total_bytes = 20'000'000;
    return Model(options, {ModelPath{.mbps = 100, .rtt = 10ms}, ModelPath{.mbps = 20, .rtt = 500ms}}).run();
}

// The delay of each path in turn rises to 2,000 ms within 10 s and falls again (DAPB, figure 10).
ModelResult ramps(const std::string& scheduler, bool reinject) {
    const auto ramp = [](double at) {
        return [at](double t) -> Duration {
            const double part = t < at + 10 ? (t - at) / 10 : (at + 20 - t) / 10;
            return udtx::from_seconds(std::max(0.0, 1.99 * part));
        };
    };
    return Model(with(scheduler, reinject, 300, 100), {ModelPath{.mbps = 50, .rtt = 10ms, .extra_delay = ramp(60)},
                                                       ModelPath{.mbps = 50, .rtt = 10ms, .extra_delay = ramp(20)}})
        .run();
}

// Other traffic twice fills the second path's very large queue (TSM, figures 7 and 8).
ModelResult cross_traffic(const std::string& scheduler, bool reinject) {
    const auto cross = [](double t) { return t >= 10 && t < 20 ? 16.0 : t >= 35 && t < 43 ? 17.5 : 0.0; };
    return Model(with(scheduler, reinject, 3000, 60),
                 {ModelPath{.mbps = 10, .rtt = 10ms}, ModelPath{.mbps = 10, .rtt = 10ms, .cross_mbps = cross}})
        .run();
}

}  // namespace

TEST_CASE("print the table of docs/lab/schedulers.md", "[.table]") {
    std::puts("scheduler reinject | 10/50 W=360 | W=1500 (held) | 10/100 W=360 | ramps | cross traffic | file, s");
    for (const auto& name : path_scheduler_names()) {
        for (const bool reinject : {false, true}) {
            const auto a = unequal(name, reinject, 50ms, 360);
            const auto b = unequal(name, reinject, 50ms, 1500);
            const auto c = unequal(name, reinject, 100ms, 360);
            const auto d = ramps(name, reinject);
            const auto e = cross_traffic(name, reinject);
            const auto f = file(name, reinject);
            std::printf(
                "%-8s %-3s | %6.1f | %6.1f (%3.0f) | %6.1f | %5.1f worst %4.1f dup %.1f %% | %5.2f held %4.0f/%5.1f "
                "dup "
                "%.1f %% | %.3f dup %.1f %%\n",
                name.c_str(), reinject ? "on" : "off", a.mbps, b.mbps, b.max_held, c.mbps, d.mbps,
                *std::min_element(d.mbps_by_second.begin(), d.mbps_by_second.end()), 100 * d.duplicate_share, e.mbps,
                e.max_held, e.mean_held, 100 * e.duplicate_share, f.completed.value_or(-1), 100 * f.duplicate_share);
        }
    }
}

TEST_CASE("the sliding gap fills both paths and holds next to nothing") {
    // 100 Mbit/s at 10 ms and at 50 ms. The window of 360 packets allows at most 144 Mbit/s: the fast path's data in
    // flight and the gap are 30 ms of the total rate.
    CHECK(unequal("eds", true, 50ms, 360).mbps > 142.0);
    const auto wide = unequal("eds", true, 50ms, 1500);
    CHECK(wide.mbps > 199.0);
    CHECK(wide.max_held <= 8.0);
    CHECK(unequal("minrtt", true, 50ms, 1500).max_held > 100.0);
    CHECK(unequal("eds", true, 100ms, 360).mbps > 99.0);
    CHECK(unequal("rr", true, 100ms, 360).mbps < 60.0);
}

TEST_CASE("ramps of 2 s on either path: eds and dapb keep the other path full in every second") {
    for (const auto* name : {"eds", "dapb"}) {
        INFO(name);
        const auto result = ramps(name, true);
        CHECK(result.mbps >= 68.7);
        for (std::size_t s = 1; s < result.mbps_by_second.size(); ++s) {
            INFO("second " << s);
            CHECK(result.mbps_by_second[s] >= 49.5);
        }
        CHECK(mean(result, 42, 60) >= 99.0);  // both paths are in use again
        CHECK(mean(result, 82, 100) >= 99.0);
    }
    CHECK(ramps("minrtt", true).mbps > ramps("minrtt", false).mbps + 10.0);
}

TEST_CASE("bloat by other traffic: reinjection ends the wait, and the path is in use again when it has drained") {
    // Capacity of both links that remains: 1,200 Mbit minus 300 of other traffic, in 60 s.
    for (const auto& name : path_scheduler_names()) {
        INFO(name);
        const auto result = cross_traffic(name, true);
        CHECK(result.mbps >= 14.6);
        CHECK(result.mean_held <= 16.0);
        CHECK(result.max_held <= 347.0);
        CHECK(mean(result, 27, 35) >= 19.5);  // drained at 26 s ...
        CHECK(mean(result, 50, 60) >= 19.5);  // ... and at 49 s
        CHECK(result.duplicate_share <= 0.05);
    }
    CHECK(cross_traffic("minrtt", false).mean_held > 300.0);
}

TEST_CASE("a file ends when the paths that help have delivered it") {
    // 20 MB over 100 Mbit/s at 10 ms and 20 Mbit/s at 500 ms. The sum of the rates takes 1.33 s, and the second path's
    // last byte takes 250 ms.
    const auto result = file("eds", true);
    REQUIRE(result.completed);
    CHECK(*result.completed <= 1.40);
    CHECK(result.duplicate_share <= 0.05);
}

TEST_CASE("ordered: the other path's faults cost nothing; unordered: little") {
    struct Fault {
        const char* name;
        ModelPath path;
        double share;  // share of the time or packets for which the path works
    };
    const auto bloated = [](double t) { return t >= 3 && t < 7 ? Duration(800ms) : Duration(); };
    const auto flapping = [](double t) { return t - std::floor(t) < 0.5 ? 0.0 : 1.0; };
    const std::vector<Fault> faults{
        {"loss", {.mbps = 10, .rtt = 200ms, .loss = [](double) { return 0.1; }}, 0.9},
        {"jitter", {.mbps = 10, .rtt = 200ms, .jitter = 50ms}, 1.0},
        {"flap", {.mbps = 10, .rtt = 200ms, .loss = flapping}, 0.5},
        {"bloat", {.mbps = 10, .rtt = 200ms, .extra_delay = bloated}, 1.0},
        {"none", {.mbps = 10, .rtt = 200ms}, 1.0},
    };
    for (const Fault& fault : faults) {
        for (const double window : {400.0, 3000.0, 40000.0}) {
            INFO(fault.name << ", W = " << window);
            const auto ordered =
                Model(with("eds", true, window), {ModelPath{.mbps = 100, .rtt = 10ms}, fault.path}).run();
            CHECK(ordered.mbps >= 98.0);
            CHECK(ordered.duplicate_share <= 0.05);
        }
        INFO(fault.name);
        ModelOptions options = with("eds", true, 0);
        options.kind = StreamKind::unordered;
        const auto unordered = Model(options, {ModelPath{.mbps = 100, .rtt = 10ms}, fault.path}).run();
        CHECK(unordered.mbps >= 0.95 * (100.0 + 10.0 * fault.share));
        CHECK(unordered.duplicate_share <= 0.05);
    }
}

TEST_CASE("property: eds beats the best path alone, fills all for an unordered stream, duplicates within 5 %") {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        INFO("seed " << seed);
        udtx::sim::Prng random(seed);
        std::vector<ModelPath> paths(2 + random.below(3));
        double best = 0.0;
        double sum = 0.0;
        std::string what;
        for (auto& path : paths) {
            path.mbps = 5.0 + static_cast<double>(random.below(100));
            path.rtt = std::chrono::milliseconds(5 + random.below(150));
            best = std::max(best, path.mbps);
            sum += path.mbps;
            what += std::to_string(path.mbps) + " Mbit/s " + std::to_string(path.rtt / 1ms) + " ms, ";
        }
        // The window has room for at least the best path alone, and at most for all paths.
        const double window = 1500.0 + static_cast<double>(random.below(6000));
        INFO(what << "W = " << window);
        ModelOptions options = with("eds", true, window, 3);
        const auto ordered = Model(options, paths).run();
        CHECK(ordered.mbps >= 0.98 * best);
        CHECK(ordered.duplicate_share <= 0.05);
        options.kind = StreamKind::unordered;
        const auto unordered = Model(options, paths).run();
        CHECK(unordered.mbps >= 0.98 * sum);
        options.total_bytes = static_cast<std::uint64_t>(sum * 1e6 / 8.0 * 2.0);  // two seconds at the total rate
        options.seconds = 30;
        const auto ended = Model(options, paths).run();
        REQUIRE(ended.completed);
        CHECK(ended.duplicate_share <= 0.05);
        options.scheduler = "minrtt";
        options.reinject = false;
        const auto plain = Model(options, paths).run();
        CHECK(*ended.completed <= 1.005 * *plain.completed + 0.002);
    }
}
