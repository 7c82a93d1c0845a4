// Runs one cell and samples it.
#pragma once

#include <cstdint>
#include <vector>

#include "paths/cell.hpp"

namespace udtx::papers::paths {

/// Figures of a path: rates and means of one interval, other values at its end.
struct PathSample {
    double mbps = 0.0;  ///< rate that arrived on its line
    double srtt_ms = 0.0;
    double window_packets = 0.0;
    double transmit_times = 0.0;
    double queue_ms = 0.0;                 ///< mean queueing delay in the router
    std::uint64_t reinjected_packets = 0;  ///< since the start of the run
    bool active = false;
};

struct Sample {
    double end_s = 0.0;
    double goodput_mbps = 0.0;   ///< stream bytes handed over in order
    double send_queue = 0.0;     ///< sent packets that the receiver has not yet acknowledged in order
    double receive_queue = 0.0;  ///< received packets that wait for earlier ones
    std::vector<PathSample> paths;
};

struct Run {
    std::vector<Sample> samples;
    std::vector<double> mbps_by_second;  ///< stream bytes handed over in order
    double max_send_queue = 0.0;         ///< packets; sampled every 10 ms
    double mean_send_queue = 0.0;
    double max_receive_queue = 0.0;
    double mean_receive_queue = 0.0;
    double longest_wait_ms = 0.0;
    double mean_wait_ms = 0.0;
    double left_mbps = 0.0;  ///< highest possible goodput: uses all bits of the lines that other traffic did not take
    double line_mbps = 0.0;  ///< rate at which the connection arrived, with headers, control packets and copies
    double resent_share = 0.0;      ///< part of the sent stream bytes that were sent again, for any reason
    double reinjected_share = 0.0;  ///< part of the sent stream bytes that were sent again because they were late
    std::uint64_t reinjected_packets = 0;
    std::uint64_t dropped = 0;         ///< packets that queues dropped
    std::uint64_t lost = 0;            ///< packets that the sender declared lost
    std::uint64_t probe_timeouts = 0;  ///< on the first path
    std::uint64_t suspensions = 0;     ///< of the first path
    std::uint64_t revivals = 0;        ///< times the first path was declared alive while its packets were damaged
    double window_after = 0.0;         ///< first path's mean window when a period of errors ends, packets
    bool intact = false;
};

[[nodiscard]] Run run_cell(const Cell& cell);

}  // namespace udtx::papers::paths
