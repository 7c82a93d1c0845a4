// The default controller among its own flows and beside others on one link.
#include "scenario/udtx_line.hpp"
#include "sim/flows.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

void check_share_beside(const char* peer, std::uint64_t mbps, std::uint64_t seed, double least, double most) {
    auto setup = line(mbps, 100ms, 1.0, seed);
    setup.flows.push_back({.cc = peer, .start = 2s});
    FlowRig rig(setup);
    rig.run_for(60s);
    INFO(rig.table(20s, 60s));
    const double share = rig.goodput(0, 20s, 60s).bps() / rig.goodput(20s, 60s).bps();
    CHECK(share > least);
    CHECK(share < most);
}

void check_even_shares(const FlowRigSetup& setup, Duration from, Duration to) {
    FlowRig rig(setup);
    rig.run_for(to);
    INFO(rig.table(from, to));
    CHECK(rig.jain(from, to) > 0.98);
}

}  // namespace

TEST_CASE("udtx among its own: equal shares within ten seconds of the last join", "[whole]") {
    UDTX_WHOLE_ONLY();
    struct Cell {
        Duration rtt;
        double queue;
        std::size_t flows;
        Duration apart;
    };
    for (const Cell& cell : {Cell{50ms, 1.0, 5, 2s}, Cell{100ms, 1.0, 2, 5s}, Cell{100ms, 1.0, 10, 1s},
                             Cell{200ms, 1.0, 2, 5s}, Cell{200ms, 1.0, 10, 1s}, Cell{100ms, 0.1, 10, 1s},
                             Cell{100ms, 0.1, 3, 5s}, Cell{200ms, 0.1, 2, 5s}, Cell{200ms, 0.1, 10, 1s}}) {
        if (size_scale() < 1.0 && (cell.flows > 5 || cell.queue < 1.0)) continue;
        for (const std::uint64_t seed : some_seeds(2)) {
            FlowRig rig(line(size_scale() < 1.0 ? 20 : 100, cell.rtt, cell.queue, seed, cell.flows, cell.apart));
            const Duration joined = cell.apart * static_cast<std::int64_t>(cell.flows - 1);
            rig.run_for(joined + 20s);
            INFO(rig.table(joined + 5s, joined + 10s) << rig.table(joined + 10s, joined + 20s));
            // Still converging: 0.971 to 0.979 over eight seeds of the last but one cell, which is the slowest.
            if (size_scale() >= 1.0) CHECK(rig.jain(joined + 5s, joined + 10s) > 0.965);
            CHECK(rig.jain(joined + 10s, joined + 20s) > 0.98);
            CHECK(rig.utilisation(joined + 10s, joined + 20s) > 0.96);
        }
    }
}

TEST_CASE("udtx among its own: ten that start within two seconds are not taken for others") {
    // Each flow floods the queue as it starts, so that the queue persists while flows start.
    for (const std::uint64_t seed : {10U, 28U}) {
        auto setup = line(100, 100ms, 1.0, seed);
        setup.shared_key = true;
        setup.flows.clear();
        for (std::uint64_t i = 0; i < 10; ++i)
            setup.flows.push_back({.cc = "udtx", .start = std::chrono::milliseconds(200 * i + i * i * seed % 150)});
        check_even_shares(setup, 20s, 30s);
        if (size_scale() < 1.0) return;
    }
}

TEST_CASE("udtx among its own: who meets a full queue and loses a tenth of its start is not left in it") {
    // The base delay that it measures includes a full queue, and no delay explains its losses. Only trials after the
    // start detect this.
    for (const auto& [rtt, seed] : {std::pair<Duration, std::uint64_t>{100ms, 29U}, {200ms, 18U}}) {
        check_even_shares(line(100, rtt, 0.1, seed, 10, 1s), 19s, 29s);
        if (size_scale() < 1.0) return;
    }
}

TEST_CASE("udtx among its own: who lost packets only before it knew the base knows how long the full queue is") {
    // The third flow starts into a full queue and loses nothing later. It must take over the q_h of the others: without
    // that it had half a share.
    for (const std::uint64_t seed : {1U, 2U}) {
        auto setup = line(100, 200ms, 0.1, seed, 3, 400ms);
        setup.shared_key = true;
        check_even_shares(setup, 10s, 20s);
        if (size_scale() < 1.0) return;
    }
}

TEST_CASE(
    "udtx among its own: ten on a short path keep draining together, and none takes the others for other controllers",
    "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const std::uint64_t seed : {1U, 2U, 4U, 21U}) {
        auto setup = line(100, 20ms, 8.0, seed, 10, 300ms);
        FlowRig rig(setup);
        rig.run_for(40s);
        INFO(rig.table(20s, 40s));
        // Measured: 16 ms and 1.000 with each of 40 seeds. The fault that this case detects: 150 ms and 0.6 with 19 of
        // them.
        CHECK(rig.queue_delay(20s, 40s).mean < 25ms);
        CHECK(rig.jain(20s, 40s) > 0.98);
        if (size_scale() < 1.0) return;
    }
}

TEST_CASE("udtx among its own: a round trip ten times as long gets less than twice as much") {
    auto setup = line(100, 20ms, 8.0, some_seeds(1)[0], 2);
    setup.flows[1].rtt = 200ms;
    FlowRig rig(setup);
    rig.run_for(30s);
    INFO(rig.table(15s, 30s));
    CHECK(rig.goodput(1, 15s, 30s).bps() < 2.0 * rig.goodput(0, 15s, 30s).bps());
    CHECK(rig.goodput(0, 15s, 30s).bps() < 2.0 * rig.goodput(1, 15s, 30s).bps());
}

TEST_CASE("udtx beside a flow that fills the queue: neither starves", "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const char* peer : {"cubic", "bbr"}) {
        check_share_beside(peer, 100, some_seeds(1)[0], 0.2, 0.75);
    }
}

TEST_CASE("udtx on a slow line beside one that fills the queue: who is starved does not wait for its own packets") {
    const char* peer = GENERATE("cubic", "bbr");  // CUBIC's queue also stays constant around its plateau
    for (const std::uint64_t seed : some_seeds(3)) {
        check_share_beside(peer, 20, seed, 0.3, 0.7);
    }
}

TEST_CASE("udtx on a slow short line: several do not fill its queue with the least that each sends") {
    for (const std::uint64_t seed : some_seeds(3)) {
        auto setup = line(5, 15ms, 1.0, seed, 3, 1s);
        setup.queue_bytes = 45'000;  // 72 ms
        FlowRig rig(setup);
        rig.run_for(40s);
        INFO(rig.table(10s, 40s));
        // Measured: 18 ms, 1.000, 0.945. A minimum of four packets per round trip gave 60 ms, as that is more than a
        // third of the link's rate.
        CHECK(rig.queue_delay(10s, 40s).mean < 25ms);
        CHECK(rig.jain(10s, 40s) > 0.99);
        CHECK(rig.goodput(10s, 40s).bps() > 0.85 * 5e6);
    }
}
