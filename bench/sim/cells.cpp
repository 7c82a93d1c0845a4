#include "cells.hpp"

#include <algorithm>
#include <utility>

#include "sim/flows.hpp"
#include "sim/prng.hpp"

namespace udtx::bench {

namespace {

using namespace std::chrono_literals;
using namespace udtx::sim;

/// Parameters of the link that a run uses.
struct Line {
    double mbps = 100.0;
    Duration rtt = 100ms;
    double queue = 1.0;  ///< BDP
    double loss = 0.0;
    Duration jitter{};
    Duration jitter_hold{};
    Duration coalescing{};
    double access_mbps = 0.0;
    std::uint64_t queue_bytes = 0;
};

FlowRigSetup setup(const Line& line, std::uint64_t seed) {
    FlowRigSetup out;
    out.name = "cell";
    out.seed = seed;
    out.bits_per_second = static_cast<std::uint64_t>(line.mbps * 1e6);
    out.rtt = line.rtt;
    out.queue_bdp = line.queue;
    out.queue_bytes = line.queue_bytes;
    out.loss = line.loss;
    out.jitter = line.jitter;
    out.jitter_hold = line.jitter_hold;
    out.card.period = line.coalescing;
    out.access_bits_per_second = static_cast<std::uint64_t>(line.access_mbps * 1e6);
    out.shared_key = true;
    return out;
}

/// Goodput of all flows over the goodput that the link could carry.
double goodput(const FlowRig& rig, const Line& line, Duration from, Duration to) {
    return rig.goodput(from, to).bps() / (kPayload * line.mbps * 1e6 * (1.0 - line.loss));
}

using Run = std::function<double(const Maker&, std::uint64_t)>;

/// One flow over `line` until `to`.
struct One {
    Line line;
    Duration to{};
    std::function<double(const FlowRig&)> measure;
    std::function<void(FlowRigSetup&)> prepare{};
    std::function<void(FlowRig&)> script{};
};

Run one(const One& what) {
    return [what](const Maker& maker, std::uint64_t seed) {
        FlowRigSetup made = setup(what.line, seed);
        made.flows = {under_test(maker)};
        if (what.prepare) what.prepare(made);
        FlowRig rig(made);
        if (what.script) what.script(rig);
        rig.run_for(what.to);
        return what.measure(rig);
    };
}

/// Measures the flow's goodput in [from, to), relative to the link.
std::function<double(const FlowRig&)> carried(const Line& line, Duration from, Duration to) {
    return [=](const FlowRig& rig) { return goodput(rig, line, from, to); };
}

Run alone(const Line& line, Duration from, Duration to) {
    return one({.line = line, .to = to, .measure = carried(line, from, to)});
}

/// (rtt + 5 ms) / (rtt + 5 ms + mean queueing delay). The number is reduced if the link is less than 95 % full.
Run queue_alone(const Line& line, Duration from, Duration to) {
    return one({.line = line, .to = to, .measure = [=](const FlowRig& rig) {
                    const double free = to_seconds(line.rtt) + 5e-3;
                    return free / (free + to_seconds(rig.queue_delay(from, to).mean)) *
                           std::min(1.0, goodput(rig, line, from, to) / 0.95);
                }});
}

/// `n` flows start `apart` from each other. The number is their Jain's index times the link's utilisation, measured for
/// `length` from `after` the last start.
Run joins(const Line& line, std::size_t n, Duration apart, Duration after, Duration length) {
    return [=](const Maker& maker, std::uint64_t seed) {
        FlowRigSetup made = setup(line, seed);
        for (std::size_t i = 0; i < n; ++i)
            made.flows.push_back(under_test(maker, apart * static_cast<std::int64_t>(i)));
        FlowRig rig(made);
        const Duration from = apart * static_cast<std::int64_t>(n - 1) + after;
        rig.run_for(from + length);
        return rig.jain(from, from + length) * std::min(1.0, rig.utilisation(from, from + length) / 0.97);
    };
}

/// Two flows share the link. The number is twice the smaller share. `first`: the controller under test starts first.
Run beside(const Line& line, const char* controller, bool first) {
    return [=](const Maker& maker, std::uint64_t seed) {
        FlowRigSetup made = setup(line, seed);
        const FlowSpec other{.cc = controller, .start = first ? Duration(2s) : Duration::zero()};
        made.flows = {under_test(maker, first ? Duration::zero() : Duration(5s)), other};
        FlowRig rig(made);
        rig.run_for(60s);
        const double share = rig.goodput(0, 20s, 60s).bps() / rig.goodput(20s, 60s).bps();
        return 2.0 * std::min(share, 1.0 - share);
    };
}

void set_rate(FlowRig& rig, double mbps) {
    rig.bottleneck().change([mbps](LinkParams& p) { p.bits_per_second = static_cast<std::uint64_t>(mbps * 1e6); });
}

/// The link's rate changes at the times of `rates`, which are in Mbit/s. The number is the goodput in [from, to) over
/// the goodput that the link could carry in that time.
Run changing(const Line& line, const std::vector<std::pair<Duration, double>>& rates, Duration from, Duration to) {
    double megabits = 0.0;
    double now = line.mbps;
    Duration since{};
    const auto count = [&](Duration until) {
        megabits += now * std::max(0.0, to_seconds(std::min(until, to) - std::max(since, from)));
        since = until;
    };
    for (const auto& [at, mbps] : rates) {
        count(at);
        now = mbps;
    }
    count(to);
    return one({.line = line,
                .to = to,
                .measure =
                    [=](const FlowRig& rig) {
                        return rig.goodput(from, to).bps() * to_seconds(to - from) / (kPayload * 1e6 * megabits);
                    },
                .script =
                    [rates](FlowRig& rig) {
                        for (const auto& [at, mbps] : rates) rig.at(at, [&rig, mbps = mbps] { set_rate(rig, mbps); });
                    }});
}

/// A random walk of the rate between 5 and 60 Mbit/s with a step each second. It is the same for all seeds.
std::vector<std::pair<Duration, double>> walk(Duration length) {
    Prng prng(7);
    std::vector<std::pair<Duration, double>> rates;
    double mbps = 30.0;
    for (Duration at = 1s; at < length; at += 1s) {
        mbps = std::clamp(mbps * (0.5 + static_cast<double>(prng.below(1000)) / 800.0), 5.0, 60.0);
        rates.emplace_back(at, mbps);
    }
    return rates;
}

/// Changes the bottleneck at time `when`.
std::function<void(FlowRig&)> at(Duration when, const std::function<void(LinkParams&)>& edit) {
    return [=](FlowRig& rig) { rig.at(when, [&rig, edit] { rig.bottleneck().change(edit); }); };
}

Run bursts() {
    const Line line;
    return one({.line = line, .to = 20s, .measure = carried(line, 4s, 20s), .script = at(0s, [](LinkParams& p) {
                                                                                p.burst = {.enter = 0.0005,
                                                                                           .leave = 0.05};
                                                                            })});
}

Run longer_path() {
    const Line line{.rtt = 50ms, .queue = 2.0};
    return one({.line = line, .to = 30s, .measure = carried(line, 12s, 30s), .script = at(10s, [](LinkParams& p) {
                                                                                 p.delay += 50ms;
                                                                             })});
}

Run policer() {
    const Line line{.mbps = 50, .rtt = 50ms, .queue_bytes = 6000};
    return one({.line = line, .to = 30s, .measure = [line](const FlowRig& rig) {
                    return goodput(rig, line, 5s, 30s) * (1.0 - rig.drops(5s, 30s));
                }});
}

Run narrow_back() {
    const Line line;
    return one({.line = line, .to = 30s, .measure = carried(line, 12s, 30s), .prepare = [](FlowRigSetup& made) {
                    made.back = {.bits_per_second = 16'000};
                }});
}

Run late_threads() {
    const Line line{.mbps = 200};
    return one({.line = line, .to = 12s, .measure = carried(line, 4s, 12s), .prepare = [](FlowRigSetup& made) {
                    made.noise = {.late = 1.0, .interrupted = 0.002, .most = 4ms};
                }});
}

/// Cross traffic takes half of the link, 2 s on and 1 s off. On average two thirds of the link remain.
Run cross() {
    return one(
        {.line = {.access_mbps = 100},
         .to = 35s,
         .measure = [](const FlowRig& rig) { return rig.goodput(5s, 35s).bps() / (kPayload * 100e6 * 2.0 / 3.0); },
         .prepare = [](FlowRigSetup& made) { made.cross = {.bits_per_second = 50'000'000}; }});
}

/// A burst of cross traffic leaves a queue of 1.8 s.
Run after_burst() {
    const Line line{.mbps = 10, .rtt = 20ms, .access_mbps = 10, .queue_bytes = 30'000'000};
    return one({.line = line,
                .to = 40s,
                .measure =
                    [line](const FlowRig& rig) {
                        const double queue = to_seconds(rig.queue_delay(25s, 40s).mean);
                        return goodput(rig, line, 25s, 40s) * 0.05 / (0.05 + queue);
                    },
                .prepare =
                    [](FlowRigSetup& made) {
                        made.cross = {.bits_per_second = 16'000'000, .from = 5s, .on = 3s, .off = 1h};
                    }});
}

/// The ideal time of 0.46 s is three round trips and the transmission time of the bytes.
Run short_file() {
    return one(
        {.line = {},
         .to = 5s,
         .measure = [](const FlowRig& rig) { return rig.completed(0) ? 0.46 / to_seconds(*rig.completed(0)) : 0.0; },
         .prepare = [](FlowRigSetup& made) { made.flows[0].bytes = 2'000'000; }});
}

double rtt_mix(const Maker& maker, std::uint64_t seed) {
    FlowRigSetup made = setup({.rtt = 20ms, .queue = 8.0}, seed);
    made.flows = {under_test(maker), under_test(maker, 1s, 200ms), under_test(maker, 2s, 60ms)};
    FlowRig rig(made);
    rig.run_for(35s);
    return rig.jain(15s, 35s);
}

/// One CUBIC flow shares the link with three flows under test. The number is CUBIC's share over a fair share, at
/// most 1.
double cubic_among(const Maker& maker, std::uint64_t seed) {
    FlowRigSetup made = setup({}, seed);
    made.flows = {{.cc = "cubic"}, under_test(maker, 1s), under_test(maker, 2s), under_test(maker, 4s)};
    FlowRig rig(made);
    rig.run_for(60s);
    return std::min(1.0, 4.0 * rig.goodput(0, 20s, 60s).bps() / rig.goodput(20s, 60s).bps());
}

/// Ten flows run for 15 minutes. The number combines Jain's index and the queueing delay of the last 5 minutes.
double ten_for_long(const Maker& maker, std::uint64_t seed) {
    FlowRigSetup made = setup({.mbps = 50, .rtt = 20ms, .queue = 8.0}, seed);
    for (int i = 0; i < 10; ++i) made.flows.push_back(under_test(maker, i * 300ms));
    FlowRig rig(made);
    rig.run_for(900s);
    const double queue = to_seconds(rig.queue_delay(600s, 900s).mean);
    return rig.jain(600s, 900s) * std::min(1.0, 0.025 / queue);
}

std::vector<Cell> make() {
    const Line usual;
    std::vector<Cell> all{
        {"alone", "100 Mbit/s, 100 ms, 1 BDP (so where nothing else is said), first 12 s", alone(usual, 0s, 12s)},
        {"alone-queue", "the same: 105 ms / (105 ms + its queue)", queue_alone(usual, 4s, 15s)},
        {"alone-deep", "100 Mbit/s, 50 ms, 8 BDP, 100 to 150 s, queue",
         queue_alone({.rtt = 50ms, .queue = 8.0}, 100s, 150s)},
        {"alone-shallow", "100 Mbit/s, 20 ms, 0.1 BDP", alone({.rtt = 20ms, .queue = 0.1}, 3s, 12s)},
        {"alone-fast", "700 Mbit/s, 50 ms, 0.5 BDP, first 8 s (E5)",
         alone({.mbps = 700, .rtt = 50ms, .queue = 0.5}, 0s, 8s)},
        {"alone-slow", "8 Mbit/s, 160 ms, 0.4 s of queue, first 12 s (E6)",
         alone({.mbps = 8, .rtt = 160ms, .queue_bytes = 400'000}, 0s, 12s)},
        {"alone-short", "800 Mbit/s, 0.2 ms",
         alone({.mbps = 800, .rtt = 200us, .queue_bytes = 500'000}, 500ms, 1500ms)},
        {"short-file", "2 MB over 100 Mbit/s, 100 ms: 0.46 s / its time", short_file()},
        {"loss-1", "200 ms, 1 % lost", alone({.rtt = 200ms, .loss = 0.01}, 5s, 15s)},
        {"loss-10", "60 Mbit/s, 10 % lost", alone({.mbps = 60, .loss = 0.1}, 4s, 20s)},
        {"loss-20", "60 Mbit/s, 20 % lost", alone({.mbps = 60, .loss = 0.2}, 4s, 20s)},
        {"loss-30", "60 Mbit/s, 30 % lost", alone({.mbps = 60, .loss = 0.3}, 4s, 20s)},
        {"loss-far", "40 Mbit/s, 1 s, 5 % lost (E4)", alone({.mbps = 40, .rtt = 1s, .loss = 0.05}, 10s, 40s)},
        {"loss-bursts", "bursts of 20 packets, each 2,000", bursts()},
        {"loss-shallow", "20 Mbit/s, 20 ms, 3 packets, 1 % lost",
         alone({.mbps = 20, .rtt = 20ms, .queue = 0.1, .loss = 0.01}, 5s, 20s)},
        {"jitter-3", "up to 3 ms in order", alone({.jitter = 3ms}, 3s, 15s)},
        {"jitter-10", "80 Mbit/s, 30 ms, up to 10 ms in order (E1), first 12 s",
         alone({.mbps = 80, .rtt = 30ms, .jitter = 10ms}, 0s, 12s)},
        {"jitter-20", "80 Mbit/s, 100 ms, 2 BDP, up to 20 ms drawn each 10 ms (E2), first 12 s",
         alone({.mbps = 80, .queue = 2.0, .jitter = 20ms, .jitter_hold = 10ms}, 0s, 12s)},
        {"jitter-two", "two with up to 3 ms", joins({.jitter = 3ms}, 2, 3s, 7s, 12s)},
        {"rate-third", "100, 30 and 100 Mbit/s", changing(usual, {{10s, 30.0}, {20s, 100.0}}, 10s, 30s)},
        {"rate-tenth", "100, 10 and 100 Mbit/s, 150 kB of queue",
         changing({.rtt = 50ms, .queue_bytes = 150'000}, {{10s, 10.0}, {25s, 100.0}}, 10s, 40s)},
        {"rate-walk", "5 to 60 Mbit/s, another each second",
         changing({.mbps = 30, .rtt = 60ms, .queue = 4.0}, walk(40s), 2s, 40s)},
        {"way-longer", "50 ms more", longer_path()},
        {"policer", "50 Mbit/s, 4 packets", policer()},
        {"narrow-back", "16 kbit/s back", narrow_back()},
        {"late-threads", "200 Mbit/s, each thread up to 4 ms late", late_threads()},
        {"cross", "50 Mbit/s of datagrams, 2 s on, 1 s off", cross()},
        {"after-burst", "10 Mbit/s, 1.8 s of others' queue", after_burst()},
        {"two-far", "two, 200 ms", joins({.rtt = 200ms}, 2, 5s, 10s, 10s)},
        {"ten", "ten, a second apart", joins(usual, 10, 1s, 10s, 10s)},
        {"ten-shallow", "ten, 200 ms, 0.1 BDP", joins({.rtt = 200ms, .queue = 0.1}, 10, 1s, 10s, 10s)},
        {"ten-long", "ten, 50 Mbit/s, 20 ms, 8 BDP, 600 to 900 s: Jain, queue", ten_for_long},
        {"rtt-mix", "three, 20, 200 and 60 ms", rtt_mix},
        {"coalescing", "three, interrupts each 0.2 ms (E7)", joins({.coalescing = 200us}, 3, 3s, 6s, 12s)},
        {"coalescing-fast", "three, 300 Mbit/s, interrupts each 0.2 ms",
         joins({.mbps = 300, .coalescing = 200us, .access_mbps = 1000}, 3, 2s, 5s, 8s)},
        {"cubic-second", "beside CUBIC that comes second", beside(usual, "cubic", true)},
        {"cubic-first", "beside CUBIC that was first", beside(usual, "cubic", false)},
        {"bbr-second", "beside BBRv3 that comes second", beside(usual, "bbr", true)},
        {"bbr-short", "beside TCP's BBR, 20 Mbit/s, 40 ms, first", beside({.mbps = 20, .rtt = 40ms}, kTcpBbr, false)},
        {"cubic-among", "CUBIC's share beside three", cubic_among},
    };
    for (const std::vector<Cell>& more : {wireless_cells(), c4_cells()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

sim::FlowSpec under_test(const Maker& maker, Duration start, Duration rtt) {
    sim::FlowSpec flow{.cc = maker ? "udtx" : sim::kTcpBbr, .start = start, .rtt = rtt};
    flow.config.congestion_factory = maker;
    return flow;
}

const std::vector<Cell>& cells() {
    static const std::vector<Cell> all = make();
    return all;
}

}  // namespace udtx::bench
