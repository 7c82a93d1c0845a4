// The bottleneck of the default controller's scenarios.
#pragma once

#include "sim/flows.hpp"

namespace udtx::sim {

/// `flows` flows of the default controller that start `apart`, over a queue of `queue` BDP.
inline FlowRigSetup line(std::uint64_t mbps, Duration rtt, double queue, std::uint64_t seed, std::size_t flows = 1,
                         Duration apart = {}) {
    FlowRigSetup setup;
    setup.name = "udtx";
    setup.seed = seed;
    setup.bits_per_second = mbps * 1'000'000;
    setup.rtt = rtt;
    setup.queue_bdp = queue;
    for (std::size_t i = 0; i < flows; ++i) {
        setup.flows.push_back({.cc = "udtx", .start = apart * static_cast<std::int64_t>(i)});
    }
    return setup;
}

}  // namespace udtx::sim
