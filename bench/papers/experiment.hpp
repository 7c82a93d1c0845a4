// Runs one cell and samples it every SYN interval.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cell.hpp"
#include "measure.hpp"

namespace udtx::papers {

/// The figures of one SYN interval. Each vector has one value per flow.
struct Sample {
    double end_s = 0.0;
    std::vector<double> goodput_mbps;
    std::vector<double> pair_mbps;       ///< 1/D of the newest packet pair that the receiver reported
    std::vector<double> mtr_mbps;        ///< the controller's estimate of the maximum transfer rate
    std::vector<double> rate_mbps;       ///< pacing rate; 0: the controller does not pace
    std::vector<std::uint32_t> dropped;  ///< packets that the queues dropped
    double queue_ms = 0.0;               ///< mean queueing delay at the bottleneck's rate
};

struct FlowTotals {
    std::uint64_t sent_packets = 0;
    std::uint64_t dropped = 0;        ///< packets that the queues dropped
    std::uint64_t declared_lost = 0;  ///< packets that the sender declared lost
    std::uint64_t spurious = 0;       ///< of those, acknowledged later
    bool intact = false;              ///< each byte received is the byte sent, and was handed over once
};

struct Run {
    std::vector<Sample> samples;
    std::vector<FlowSeconds> flows;
    std::vector<FlowTotals> totals;
    std::uint64_t cross_dropped = 0;
};

[[nodiscard]] Run run_cell(const Cell& cell);

}  // namespace udtx::papers
