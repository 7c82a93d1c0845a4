// The downloads of draft-huitema-ccwg-c4-test, "Reaction to network events", "Competition" and "Handling of High Jitter
// Environments". Sizes, rates and delays are those of the draft. Queues, which it mostly leaves open, are those of the
// simulations that it was made with (github.com/private-octopus/c4, sim_specs).
#include <algorithm>

#include "cells.hpp"
#include "sim/wireless.hpp"

namespace udtx::bench {

namespace {

using namespace std::chrono_literals;
using namespace udtx::sim;

constexpr std::uint64_t kMega = 1'000'000;

/// A download beside the one under test.
struct Background {
    const char* controller = nullptr;  ///< null: the one under test
    std::uint64_t bytes = 0;           ///< 0: no such download
    Duration start{};
};

struct Download {
    std::uint64_t bytes = 0;
    double mbps = 0.0;
    Duration rtt{};
    Duration queue{};
    Duration start{};
    Background other{};
    std::vector<RateStep> rates{};  ///< instead of mbps
    Duration wifi{};                ///< mean of wifi_jitter()
    /// Changes at times.
    std::vector<std::pair<Duration, std::function<void(LinkParams&)>>> changes{};
};

std::uint64_t bits(double mbps) { return static_cast<std::uint64_t>(mbps * 1e6); }
std::uint64_t on_line(std::uint64_t bytes) { return static_cast<std::uint64_t>(static_cast<double>(bytes) / kPayload); }

/// Three round trips and the time for the bytes. Downloads that run at the same time have half of the link each.
double ideal(const Download& d) {
    std::uint64_t bytes = on_line(d.bytes);
    Duration from = d.start;
    if (d.other.bytes > 0) {
        from = std::max(d.start, d.other.start);
        const auto alone = [&](Duration since) {
            return static_cast<std::uint64_t>(d.mbps * 1e6 / 8.0 * to_seconds(from - since));
        };
        bytes -= alone(d.start);
        bytes += std::min(bytes, on_line(d.other.bytes) - alone(d.other.start));
    }
    const std::vector<RateStep> rates = d.rates.empty() ? std::vector<RateStep>{{{}, bits(d.mbps)}} : d.rates;
    return 3.0 * to_seconds(d.rtt) + to_seconds(sent_at(rates, from, bytes) - d.start);
}

/// The ideal time over the time of the download under test, at most 1. It is 0 if that takes over ten times as long.
double run(const Download& d, const Maker& maker, std::uint64_t seed) {
    FlowRigSetup setup;
    setup.name = "download";
    setup.seed = seed;
    setup.bits_per_second = bits(d.mbps);
    setup.rtt = d.rtt;
    setup.queue_bytes = std::max<std::uint64_t>(bits(d.mbps * to_seconds(d.queue)) / 8, 4500);
    setup.shared_key = true;
    setup.flows = {under_test(maker, d.start)};
    setup.flows[0].bytes = d.bytes;
    if (d.other.bytes > 0) {
        FlowSpec other = under_test(maker);
        if (d.other.controller != nullptr) other = {.cc = d.other.controller};
        other.start = d.other.start;
        other.bytes = d.other.bytes;
        setup.flows.push_back(other);
    }
    FlowRig rig(setup);
    rig.bottleneck().change([&](LinkParams& p) {
        p.rates = d.rates;
        if (d.wifi == Duration::zero()) return;
        p.jitter_law = wifi_jitter(d.wifi);
        p.jitter_hold = 10ms;
    });
    for (const auto& [when, edit] : d.changes) rig.at(when, [&rig, edit = edit] { rig.bottleneck().change(edit); });
    const double best = ideal(d);
    while (!rig.completed(0) && to_seconds(rig.elapsed()) < 10.0 * best + to_seconds(d.start)) rig.run_for(500ms);
    const auto time = rig.completed(0);
    return time ? std::min(1.0, best / to_seconds(*time)) : 0.0;
}

/// 200 ms without any rate at the end of each 2 s.
std::vector<RateStep> suspensions() {
    std::vector<RateStep> rates;
    for (Duration from{}; from < 60s; from += 2s) {
        rates.push_back({from, bits(20)});
        rates.push_back({from + 1800ms, 0});
    }
    rates.push_back({60s, bits(20)});
    return rates;
}

Download fade() {
    const auto jitter = [](Duration mean) { return [mean](LinkParams& p) { p.jitter_law = wifi_jitter(mean); }; };
    return {.bytes = 10 * kMega,
            .mbps = 20,
            .rtt = 80ms,
            .queue = 80ms,
            .rates = {{0s, bits(20)}, {1s, bits(2)}, {3s, bits(20)}},
            .wifi = 1ms,
            .changes = {{1s, jitter(12ms)}, {3s, jitter(1ms)}}};
}

Download short_long() {
    return {.bytes = 20 * kMega, .mbps = 10, .rtt = 30ms, .queue = 100ms, .changes = {{1s, [](LinkParams& p) {
                                                                                           p.delay = 70ms;
                                                                                       }}}};
}

/// "Two long connections", "Long background connection last" and "Compete over bad Wi-Fi" of the draft, beside
/// `controller`.
Download both_long(const char* controller) {
    return {.bytes = 20 * kMega, .mbps = 20, .rtt = 80ms, .queue = 80ms, .other = {controller, 30 * kMega}};
}
Download other_last(const char* controller) {
    return {.bytes = 10 * kMega, .mbps = 10, .rtt = 70ms, .queue = 80ms, .other = {controller, 15 * kMega, 1s}};
}
Download bad_wifi(const char* controller) {
    return {.bytes = 4 * kMega,
            .mbps = 10,
            .rtt = 2ms,
            .queue = 250ms,
            .start = 1s,
            .other = {controller, 10 * kMega},
            .wifi = 7ms};
}

Cell cell(std::string_view name, std::string_view what, const Download& download) {
    return {name, what, [download](const Maker& maker, std::uint64_t seed) { return run(download, maker, seed); }};
}

}  // namespace

std::vector<Cell> c4_cells() {
    const Download small{.bytes = 5 * kMega, .mbps = 20, .rtt = 80ms, .queue = 80ms};
    const auto beside = [](Download download, const Background& other) {
        download.other = other;
        return download;
    };
    Download after = beside(small, {nullptr, 10 * kMega});
    after.start = 500ms;
    return {
        cell("c4-alone", "10 MB, 20 Mbit/s, 80 ms: the ideal time / its time (so all of c4)",
             {.bytes = 10 * kMega, .mbps = 20, .rtt = 80ms, .queue = 80ms}),
        cell("c4-alone-200", "20 MB, 200 Mbit/s, 40 ms",
             {.bytes = 20 * kMega, .mbps = 200, .rtt = 40ms, .queue = 40ms}),
        cell("c4-alone-1500k", "4 MB, 1.5 Mbit/s, 40 ms",
             {.bytes = 4 * kMega, .mbps = 1.5, .rtt = 40ms, .queue = 50ms}),
        cell("c4-alone-512k", "1 MB, 512 kbit/s, 34 ms", {.bytes = kMega, .mbps = 0.512, .rtt = 34ms, .queue = 50ms}),
        cell("c4-low-and-up", "7 MB, 5 Mbit/s, from 2.5 s on 10, 100 ms",
             {.bytes = 7 * kMega,
              .mbps = 10,
              .rtt = 100ms,
              .queue = 80ms,
              .rates = {{0s, bits(5)}, {2500ms, bits(10)}}}),
        cell("c4-drop-and-back", "7 MB, 10 Mbit/s, from 1.5 to 3.5 s 5, 100 ms",
             {.bytes = 7 * kMega,
              .mbps = 10,
              .rtt = 100ms,
              .queue = 80ms,
              .rates = {{0s, bits(10)}, {1500ms, bits(5)}, {3500ms, bits(10)}}}),
        cell("c4-black-hole", "10 MB, 25 Mbit/s, none from 2 to 4 s, 70 ms",
             {.bytes = 10 * kMega,
              .mbps = 25,
              .rtt = 70ms,
              .queue = 80ms,
              .rates = {{0s, bits(25)}, {2s, 0}, {4s, bits(25)}}}),
        cell("c4-short-long", "20 MB, 10 Mbit/s, 30 ms, from 1 s on 100 ms", short_long()),
        cell("c4-satellite", "100 MB, 250 Mbit/s, 600 ms",
             {.bytes = 100 * kMega, .mbps = 250, .rtt = 600ms, .queue = 600ms}),
        cell("c4-vs-own", "5 MB beside 10 MB of its kind, 20 Mbit/s, 80 ms", beside(small, {nullptr, 10 * kMega})),
        cell("c4-vs-cubic", "5 MB beside 10 MB of CUBIC, 20 Mbit/s, 80 ms", beside(small, {"cubic", 10 * kMega})),
        cell("c4-vs-bbr", "5 MB beside 10 MB of BBRv3, 20 Mbit/s, 80 ms", beside(small, {"bbr", 10 * kMega})),
        cell("c4-after-own", "5 MB, 0.5 s after 10 MB of its kind, 20 Mbit/s, 80 ms", after),
        cell("c4-before-own", "10 MB, 0.5 s before 20 MB of its kind, 50 Mbit/s, 30 ms",
             {.bytes = 10 * kMega, .mbps = 50, .rtt = 30ms, .queue = 80ms, .other = {nullptr, 20 * kMega, 500ms}}),
        cell("c4-long-own", "20 MB beside 30 MB of its kind, 20 Mbit/s, 80 ms", both_long(nullptr)),
        cell("c4-long-cubic", "20 MB beside 30 MB of CUBIC, 20 Mbit/s, 80 ms", both_long("cubic")),
        cell("c4-long-bbr", "20 MB beside 30 MB of BBRv3, 20 Mbit/s, 80 ms", both_long("bbr")),
        cell("c4-last-own", "10 MB, 1 s before 15 MB of its kind, 10 Mbit/s, 70 ms", other_last(nullptr)),
        cell("c4-last-cubic", "10 MB, 1 s before 15 MB of CUBIC, 10 Mbit/s, 70 ms", other_last("cubic")),
        cell("c4-last-bbr", "10 MB, 1 s before 15 MB of BBRv3, 10 Mbit/s, 70 ms", other_last("bbr")),
        cell("c4-wifi-bad", "4 MB, 10 Mbit/s, 2 ms, Wi-Fi jitter of 7 ms",
             {.bytes = 4 * kMega, .mbps = 10, .rtt = 2ms, .queue = 250ms, .wifi = 7ms}),
        cell("c4-wifi-fade", "10 MB, 20 Mbit/s, from 1 to 3 s 2 and Wi-Fi jitter of 12 ms, 80 ms", fade()),
        cell("c4-wifi-suspension", "10 MB, 20 Mbit/s, none for 0.2 of each 2 s, 10 ms",
             {.bytes = 10 * kMega, .mbps = 20, .rtt = 10ms, .queue = 20ms, .rates = suspensions()}),
        cell("c4-wifi-bad-own", "4 MB, 1 s after 10 MB of its kind, as c4-wifi-bad", bad_wifi(nullptr)),
        cell("c4-wifi-bad-cubic", "4 MB, 1 s after 10 MB of CUBIC, as c4-wifi-bad", bad_wifi("cubic")),
        cell("c4-wifi-bad-bbr", "4 MB, 1 s after 10 MB of BBRv3, as c4-wifi-bad", bad_wifi("bbr")),
    };
}

}  // namespace udtx::bench
