#include "sim/wireless.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace udtx::sim {

namespace {

using namespace std::chrono_literals;

double uniform(Prng& prng, double low, double high) {
    return low + (high - low) * static_cast<double>(prng.next() >> 11U) * 0x1.0p-53;
}

Duration uniform(Prng& prng, Duration low, Duration high) {
    return low + Duration(static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>((high - low).count()) + 1)));
}

// Each octave is equally likely.
double log_uniform(Prng& prng, double low, double high) {
    return low * std::exp2(uniform(prng, 0.0, std::log2(high / low)));
}

std::uint64_t bits(double mbps) { return static_cast<std::uint64_t>(mbps * 1e6); }

/// Knuth's method, with `limit` = e^-mean.
int poisson(Prng& prng, double limit) {
    int n = 0;
    double product = uniform(prng, 0.0, 1.0);
    while (product > limit) {
        product *= uniform(prng, 0.0, 1.0);
        ++n;
    }
    return n;
}

/// Losses in clusters of ten packets on average, of which half are lost.
BurstLoss clusters(double loss) {
    constexpr double kLeave = 0.1;
    constexpr double kLost = 0.5;
    const double bad = loss / kLost;
    return {.enter = kLeave * bad / (1.0 - bad), .leave = kLeave, .loss_in_bad = kLost};
}

/// Suspends the line in [from, from + length).
void suspend(std::vector<RateStep>& rates, Duration from, Duration length) {
    const Duration to = from + length;
    std::uint64_t after = 0;
    for (const RateStep& step : rates)
        if (step.from <= to) after = step.bits_per_second;
    std::erase_if(rates, [&](const RateStep& step) { return step.from >= from && step.from <= to; });
    const auto place = std::ranges::upper_bound(rates, from, {}, &RateStep::from);
    rates.insert(place, {{.from = from}, {.from = to, .bits_per_second = after}});
}

}  // namespace

FlowRigSetup WirelessLine::setup(std::uint64_t seed) const {
    FlowRigSetup out;
    out.name = "wireless";
    out.seed = seed;
    out.rtt = rtt;
    out.queue_bytes = queue_bytes;
    // For the ends' memory.
    for (const RateStep& step : rates) out.bits_per_second = std::max(out.bits_per_second, step.bits_per_second);
    out.jitter = jitter;
    out.jitter_hold = jitter_hold;
    return out;
}

void WirelessLine::attach(FlowRig& rig) const {
    rig.bottleneck().change([this](LinkParams& p) {
        p.rates = rates;
        p.blackouts = blackouts;
        p.jitter_law = jitter_law;
    });
    for (const Section& section : sections) {
        rig.at(section.from, [&rig, section] {
            rig.bottleneck().change([&](LinkParams& p) {
                p.delay = section.longer;
                p.burst = section.burst;
            });
        });
    }
}

double WirelessLine::carries(Duration from, Duration to) const {
    double bytes = 0.0;
    for (std::size_t i = 0; i < sections.size(); ++i) {
        const Duration begin = std::max(from, sections[i].from);
        const Duration end = i + 1 < sections.size() ? std::min(to, sections[i + 1].from) : to;
        if (begin < end)
            bytes += static_cast<double>(bytes_between(rates, begin, end)) * (1.0 - sections[i].burst.mean());
    }
    return bytes;
}

// Reconfigurations of all terminals happen each 15 s at the same times, and each brings another rate, delay and loss:
// draft-lai-ccwg-lsncc-01; Z. Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO Satellite Dynamics",
// SIGCOMM 2025; N. Mohan et al., "A Multifaceted Look at Starlink Performance", WWW 2024. The queue of 500 packets is
// that of LeoReplayer's uplink (README of the LeoCC artifact, "Parameters Suggestion"). Delays are held for 10 ms, as
// in its traces.
WirelessLine starlink(std::uint64_t seed, Duration length) {
    Prng prng = Prng::derive(seed, 15);
    WirelessLine line{.rtt = 40ms, .queue_bytes = 750'000, .jitter = 8ms, .jitter_hold = 10ms};
    constexpr Duration kFirst = 12s;
    constexpr Duration kApart = 15s;
    constexpr Duration kStep = 500ms;
    std::vector<Duration> handovers;
    for (Duration at = kFirst; at < length; at += kApart) handovers.push_back(at);
    for (std::size_t i = 0; i <= handovers.size(); ++i) {
        const Duration from = i == 0 ? Duration::zero() : handovers[i - 1];
        const Duration to = i == handovers.size() ? length : handovers[i];
        const double level = log_uniform(prng, 10.0, 70.0);
        for (Duration at = from; at < to; at += kStep)
            line.rates.push_back({at, bits(std::clamp(level * uniform(prng, 0.75, 1.25), 10.0, 70.0))});
        line.sections.push_back({from, uniform(prng, 0ms, 15ms), clusters(log_uniform(prng, 0.005, 0.06))});
    }
    for (const Duration at : handovers) {
        const Blackout outage{.from = at, .length = uniform(prng, 100ms, 200ms)};
        suspend(line.rates, outage.from, outage.length);
        line.blackouts.push_back(outage);
    }
    return line;
}

// A clear line of sight, one that is shadowed, and one that a body blocks, as in the Markov models of blockage: G.
// MacCartney et al., "Rapid Fading Due to Human Blockage in Pedestrian Crowds at 5G Millimeter-Wave Frequencies",
// GLOBECOM 2017. Rates of some hundreds of Mbit/s that fall to a few, and megabytes of buffer: M. Zhang et al., "The
// Bufferbloat Problem over Intermittent Multi-Gbps mmWave Links", arXiv 1611.02117. A tenth of the transport blocks
// fails and is sent again 8 ms later, and the receiver waits for it to keep the order: Y. Xie et al., "PBE-CC", SIGCOMM
// 2020.
WirelessLine millimetre_wave(std::uint64_t seed, Duration length) {
    Prng prng = Prng::derive(seed, 5);
    WirelessLine line{.rtt = 30ms, .queue_bytes = 4'000'000, .sections = {{}}, .jitter_hold = 1ms};
    line.jitter_law = [](Prng& draw) {
        Duration late{};
        for (int tries = 0; tries < 4 && draw.chance(0.1); ++tries) late += 8ms;
        return late;
    };
    constexpr Duration kStep = 100ms;
    Duration at{};
    const auto stay = [&](double level, Duration time) {
        for (const Duration end = std::min(length, at + time); at < end; at += kStep)
            line.rates.push_back({at, bits(std::clamp(level * uniform(prng, 0.7, 1.3), 3.0, 400.0))});
    };
    while (at < length) {
        stay(log_uniform(prng, 100.0, 400.0), uniform(prng, 1s, 4s));
        if (prng.chance(0.5))
            stay(log_uniform(prng, 20.0, 80.0), uniform(prng, 500ms, 2s));
        else
            stay(log_uniform(prng, 3.0, 10.0), uniform(prng, 100ms, 500ms));
    }
    // Handovers: packets wait for the next cell.
    for (Duration handover = 10s; handover < length; handover += 10s)
        suspend(line.rates, handover, uniform(prng, 40ms, 80ms));
    return line;
}

std::function<Duration(Prng&)> wifi_jitter(Duration mean) {
    constexpr double kShort = 0.36787944117144233;  // e^-1
    constexpr double kLong = 6.14421235332821e-06;  // e^-12
    const double part = std::clamp((to_seconds(mean) - 1e-3) / 90e-3, 0.0, 1.0);
    return [part](Prng& prng) {
        const int deferrals = poisson(prng, kShort);
        double late = deferrals * 1e-3;
        if (deferrals > 0) late -= uniform(prng, 0.0, 1e-3);
        if (prng.chance(part)) late += poisson(prng, kLong) * 7.5e-3;
        return from_seconds(late);
    };
}

}  // namespace udtx::sim
