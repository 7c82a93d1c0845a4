// The default controller beside flows of other kinds, and the one of them that only the simulator has.
#include <algorithm>

#include "sim/flows.hpp"
#include "sim/tcp_flow.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

TEST_CASE("TCP BBR of the simulator: alone as Linux's, a full line, a short queue, windows of 2 BDP, ProbeRTT") {
    FlowRig rig({.name = "TCP BBR", .seed = some_seeds(1)[0], .flows = {{.cc = kTcpBbr}}});
    rig.run_for(30s);
    INFO(rig.table(5s, 30s));
    // Linux over the emulator: 95.4 Mbit/s and 4.7 ms between two ProbeRTTs, 1 to 1.27 BDP in flight.
    CHECK(rig.goodput(0, 5s, 30s).bps() > 0.92 * 100e6);
    CHECK(rig.queue_delay(5s, 30s).mean > 3ms);
    CHECK(rig.queue_delay(5s, 30s).mean < 7ms);
    constexpr double bdp = 100e6 / 8.0 * 0.1 * TcpFlow::kSegment / 1500.0;
    std::uint64_t widest = 0;
    std::uint64_t least = UINT64_MAX;
    std::uint64_t most = 0;
    for (std::size_t i = 1000; i < rig.samples().size(); ++i) {
        const FlowSample& sample = rig.samples()[i].flows[0];
        widest = std::max(widest, sample.window);
        least = std::min(least, sample.in_flight);
        most = std::max(most, sample.in_flight);
    }
    CHECK(static_cast<double>(widest) > 1.95 * bdp);
    CHECK(static_cast<double>(widest) < 2.2 * bdp);
    CHECK(static_cast<double>(most) < 1.4 * bdp);
    CHECK(least <= 4 * TcpFlow::kSegment);
}
