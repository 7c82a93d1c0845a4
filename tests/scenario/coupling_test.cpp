// Paths of one connection through one bottleneck take the share of one flow. Disjoint paths keep their full shares.
#include "multipath_rig.hpp"
#include "sim/flows.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// A connection of two paths beside one of a single path. Returns the first one's part of the link from `from` to 40 s.
double share(const char* cc, Coupling coupling, Duration rtt, Duration from, std::uint64_t seed = 1) {
    TransportConfig config;
    config.coupling = coupling;
    FlowRig rig({.name = "two paths beside one",
                 .seed = seed,
                 .bits_per_second = 30'000'000,
                 .rtt = rtt,
                 .access_bits_per_second = 1'000'000'000,
                 .flows = {{.cc = cc, .config = config}, {.cc = cc, .config = config}}});
    rig.run_for(1s);
    rig.add_path(0);
    rig.run_for(39s);
    INFO(cc << ", " << rig.table(from, 40s));
    CHECK(rig.utilisation(from, 40s) >= 0.95);
    return rig.goodput(0, from, 40s).bps() / rig.goodput(from, 40s).bps();
}

/// Stream bytes in 20 s over two links whose rates change independently.
std::uint64_t disjoint(Coupling coupling, std::uint64_t seed) {
    const LinkParams line{.bits_per_second = 20'000'000, .delay = 10ms, .queue_bytes = 100'000};
    TransportConfig config;
    config.coupling = coupling;
    MultipathRig rig({.name = "disjoint", .lines = {line, line}, .seed = seed, .client = config});
    Scenario& s = rig.scenario();
    const Bulk bulk = rig.start({.bytes = 1ULL << 36U});
    Prng random(seed);
    for (const std::size_t path : {0U, 1U}) {
        Duration at = 1s;
        for (bool narrow = true; at < 20s; narrow = !narrow) {
            s.at(at, narrow ? "narrow" : "wide", [&rig, path, narrow] {
                rig.up(path).change([narrow](LinkParams& p) { p.bits_per_second = narrow ? 14'000'000 : 20'000'000; });
            });
            at += 300ms + std::chrono::milliseconds(random.below(1500));
        }
    }
    s.run_for(20s - s.elapsed());
    return bulk.receiver->received();
}

}  // namespace

TEST_CASE("two udtx paths through one bottleneck take one flow's share, once that is seen") {
    CHECK(share("udtx", Coupling::none, 50ms, 20s) >= 0.62);
    for (const Duration rtt : {20ms, 50ms}) {
        const double part = share("udtx", Coupling::detect, rtt, 20s);
        CHECK(part >= 0.42);
        CHECK(part <= 0.56);
    }
}

TEST_CASE("lia takes one flow's share without looking for the bottleneck") {
    std::vector<double> parts;
    for (const std::uint64_t seed : some_seeds(5)) parts.push_back(share("udtx", Coupling::lia, 50ms, 5s, seed));
    CHECK(spread(parts).least >= 0.42);
    if (size_scale() >= 1.0) CHECK(spread(parts).median <= 0.56);  // a single seed reaches up to 0.61
    CHECK(spread(parts).most <= 0.65);
    // Without coupling, each path of `lia` behaves as a Reno flow of its own.
    CHECK(share("lia", Coupling::none, 50ms, 5s) >= 0.6);
}

TEST_CASE("disjoint paths whose queues come and go are not taken for one") {
    for (const std::uint64_t seed : some_seeds(3)) {
        INFO("seed " << seed);
        const auto apart = static_cast<double>(disjoint(Coupling::none, seed));
        CHECK(static_cast<double>(disjoint(Coupling::detect, seed)) >= 0.97 * apart);
    }
}
