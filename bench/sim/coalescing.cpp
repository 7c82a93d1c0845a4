// udtx-sim-coalescing: measures flows behind network cards that coalesce interrupts: how they share the link, and how
// exactly each estimates the link's rate (MTR).
//
//     udtx-sim-coalescing --rates 20 100 --periods 0 200 --flows 1 3
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "sim/flows.hpp"

namespace {

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

struct Options {
    std::vector<std::uint64_t> rates{20, 100, 300, 800};                     // Mbit/s
    std::vector<std::int64_t> periods{0, 50, 100, 125, 200, 250, 400, 500};  // us
    std::vector<std::size_t> flows{1, 2, 3, 10};
    std::int64_t rtt = 100;  // ms
    std::uint64_t seed = 1;
};

constexpr Duration kApart = 3s;
constexpr Duration kTime = 10s;

FlowRigSetup line(const Options& options, std::uint64_t mbps, std::int64_t period, std::size_t flows) {
    FlowRigSetup setup;
    setup.name = "coalescing";
    setup.seed = options.seed;
    setup.bits_per_second = mbps * 1'000'000;
    setup.rtt = std::chrono::milliseconds(options.rtt);
    setup.card = {.period = std::chrono::microseconds(period)};
    for (std::size_t flow = 0; flow < flows; ++flow)
        setup.flows.push_back({.cc = "udtx", .start = kApart * static_cast<std::int64_t>(flow)});
    return setup;
}

/// The relative error of the MTR with the largest absolute value among all flows.
double worst_error(const FlowRig& rig, double payload, std::size_t flows, Duration from) {
    double worst = 0.0;
    for (std::size_t flow = 0; flow < flows; ++flow) {
        const double error = rig.mean_mtr(flow, from, from + kTime) / payload - 1.0;
        if (std::abs(error) > std::abs(worst)) worst = error;
    }
    return worst;
}

void run(const Options& options) {
    std::printf("| Mbit/s | us |");
    for (const std::size_t flows : options.flows) std::printf(" Jain, %zu | line | MTR |", flows);
    std::printf("\n|---|---|");
    for (std::size_t i = 0; i < options.flows.size(); ++i) std::printf("---|---|---|");
    std::printf("\n");
    for (const std::uint64_t mbps : options.rates) {
        const double payload = 1472.0 / 1500.0 * static_cast<double>(mbps) * 1e6;
        for (const std::int64_t period : options.periods) {
            std::printf("| %llu | %lld |", static_cast<unsigned long long>(mbps), static_cast<long long>(period));
            for (const std::size_t flows : options.flows) {
                FlowRig rig(line(options, mbps, period, flows));
                const Duration from = kApart * static_cast<std::int64_t>(flows);
                rig.run_for(from + kTime);
                std::printf(" %.3f | %.3f | %+.0f %% |", rig.jain(from, from + kTime),
                            rig.utilisation(from, from + kTime), 100.0 * worst_error(rig, payload, flows, from));
                std::fflush(stdout);
            }
            std::printf("\n");
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        CLI::App app(
            "What udtx's flows share, and the worst error of their MTR, behind cards that coalesce interrupts");
        app.add_option("--rates", options.rates, "Mbit/s")->check(CLI::Range(1, 100'000))->capture_default_str();
        app.add_option("--periods", options.periods, "Time between two interrupts, us; 0: no coalescing")
            ->check(CLI::Range(0, 100'000))
            ->capture_default_str();
        app.add_option("--flows", options.flows, "Numbers of flows, which start 3 s apart")
            ->check(CLI::Range(1, 100))
            ->capture_default_str();
        app.add_option("--rtt", options.rtt, "ms")->check(CLI::Range(1, 10'000))->capture_default_str();
        app.add_option("--seed", options.seed, "Seed of all random events")->capture_default_str();
        CLI11_PARSE(app, argc, argv);
        run(options);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "udtx-sim-coalescing: %s\n", e.what());
        return 1;
    }
}
