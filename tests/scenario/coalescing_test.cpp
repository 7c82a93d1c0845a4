// Receivers whose cards hand packets over in bursts: what packet pairs and trains measure of the link, and which shares
// result.
#include "scenario/udtx_line.hpp"
#include "sim/flows.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// Flows that start three seconds apart share the link evenly, and each measures the link's rate.
void check_shares(std::uint64_t mbps, const Coalescing& card, std::size_t flows, double mtr_error = 0.1) {
    auto setup = line(mbps, 100ms, 1.0, some_seeds(1)[0], flows, 3s);
    setup.card = card;
    FlowRig rig(setup);
    const Duration joined = 3s * static_cast<std::int64_t>(flows);
    rig.run_for(joined + 10s);
    INFO(mbps << " Mbit/s, interrupts every " << card.period.count() << " ns\n" << rig.table(joined, joined + 10s));
    CHECK(rig.jain(joined, joined + 10s) > 0.98);
    CHECK(rig.utilisation(joined, joined + 10s) > 0.95);
    const double payload = 1472.0 / 1500.0 * static_cast<double>(mbps) * 1e6;
    for (std::size_t flow = 0; flow < flows; ++flow) {
        CHECK(rig.mean_mtr(flow, joined, joined + 10s) == Approx(payload).epsilon(mtr_error));
    }
}

}  // namespace

TEST_CASE("coalescing: flows share a line of 100 Mbit/s at every period, and know its rate") {
    for (const Duration period : {50us, 125us, 200us, 400us, 500us}) {
        check_shares(100, {.period = period}, 3);
        if (size_scale() < 1.0) return;
    }
}

TEST_CASE("coalescing: slow and fast lines") {
    check_shares(20, {.period = 250us}, 3);
    check_shares(20, {.period = 500us}, 3);
    check_shares(300, {.period = 250us}, 2);
}

TEST_CASE("coalescing: cards whose period adapts, that count frames, and bursts behind the line") {
    check_shares(100, {.period = 250us, .adaptive = true}, 3);
    check_shares(100, {.period = 1ms, .frames = 4}, 3, 0.3);  // a train of two bursts gives only a bound of the rate
    check_shares(100, {.period = 150us, .irregular = true}, 3);
}

TEST_CASE("coalescing: ten flows that join one after another", "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const Duration period : {0us, 50us, 200us, 500us}) check_shares(100, {.period = period}, 10);
}

TEST_CASE("coalescing: 800 Mbit/s, of which a train of usual length spans no interrupt", "[whole]") {
    UDTX_WHOLE_ONLY();
    check_shares(800, {.period = 500us}, 2);
}
