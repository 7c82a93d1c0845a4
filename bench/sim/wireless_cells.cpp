#include "sim/wireless.hpp"

#include <algorithm>

#include "cells.hpp"

namespace udtx::bench {

namespace {

using namespace std::chrono_literals;
using namespace udtx::sim;

using MakeLine = WirelessLine (*)(std::uint64_t seed, Duration length);

/// What one flow got of the line, and the mean queueing delay. Each seed has its own line.
struct Outcome {
    double part = 0.0;
    double queue = 0.0;  ///< s
    double rtt = 0.0;    ///< s
};

Outcome run(MakeLine make, const Maker& maker, std::uint64_t seed, Duration from, Duration to) {
    const WirelessLine line = make(seed, to);
    FlowRigSetup setup = line.setup(seed);
    setup.shared_key = true;
    setup.flows = {under_test(maker)};
    FlowRig rig(setup);
    line.attach(rig);
    rig.run_for(to);
    return {.part = rig.goodput(from, to).bytes_in(to - from) / (kPayload * line.carries(from, to)),
            .queue = to_seconds(rig.queue_delay(from, to).mean),
            .rtt = to_seconds(line.rtt)};
}

Cell carried(std::string_view name, std::string_view what, MakeLine make, Duration from, Duration to) {
    return {name, what, [=](const Maker& maker, std::uint64_t seed) { return run(make, maker, seed, from, to).part; }};
}

/// (rtt + 5 ms) / (rtt + 5 ms + mean queueing delay). The number is reduced if the line is less than 95 % full.
Cell queue(std::string_view name, std::string_view what, MakeLine make, Duration from, Duration to) {
    return {name, what, [=](const Maker& maker, std::uint64_t seed) {
                const Outcome o = run(make, maker, seed, from, to);
                const double free = o.rtt + 5e-3;
                return free / (free + o.queue) * std::min(1.0, o.part / 0.95);
            }};
}

}  // namespace

std::vector<Cell> wireless_cells() {
    return {
        carried("starlink", "10 to 70 Mbit/s, a handover each 15 s, 0.5 to 6 % lost, 5 to 72 s", starlink, 5s, 72s),
        queue("starlink-queue", "the same: 45 ms / (45 ms + its queue)", starlink, 5s, 72s),
        carried("5g", "3 to 400 Mbit/s, blockage, 4 MB of queue, retransmissions, 4 to 40 s", millimetre_wave, 4s, 40s),
        queue("5g-queue", "the same: 35 ms / (35 ms + its queue)", millimetre_wave, 4s, 40s),
    };
}

}  // namespace udtx::bench
