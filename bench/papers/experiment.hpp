// Runs one cell and samples it every SYN interval.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cell.hpp"
#include "measure.hpp"

namespace udtx::papers {

/// One SYN interval; one value a flow.
struct Sample {
    double end_s = 0.0;
    std::vector<double> goodput_mbps;
    std::vector<double> pair_mbps;       ///< 1/D of the newest pair that the receiver reported
    std::vector<double> mtr_mbps;        ///< what the controller made of it
    std::vector<double> rate_mbps;       ///< pacing rate; 0 where the controller does not pace
    std::vector<std::uint32_t> dropped;  ///< in the queues
    double queue_ms = 0.0;               ///< mean, at the line's rate
};

struct FlowTotals {
    std::uint64_t sent_packets = 0;
    std::uint64_t dropped = 0;        ///< in the queues
    std::uint64_t declared_lost = 0;  ///< by the sender
    std::uint64_t spurious = 0;       ///< of those, acknowledged after all
    bool intact = false;              ///< every byte received was the one sent, once
};

struct Run {
    std::vector<Sample> samples;
    std::vector<FlowSeconds> flows;
    std::vector<FlowTotals> totals;
    std::uint64_t cross_dropped = 0;
};

[[nodiscard]] Run run_cell(const Cell& cell);

}  // namespace udtx::papers
