// Runs one cell and samples it.
#pragma once

#include <cstdint>
#include <vector>

#include "paths/cell.hpp"

namespace udtx::papers::paths {

/// What a path did in one interval, or at its end.
struct PathSample {
    double mbps = 0.0;  ///< of its line, that arrived
    double srtt_ms = 0.0;
    double window_packets = 0.0;
    double transmit_times = 0.0;
    double queue_ms = 0.0;                 ///< of the router, mean
    std::uint64_t reinjected_packets = 0;  ///< from the start
    bool active = false;
};

struct Sample {
    double end_s = 0.0;
    double goodput_mbps = 0.0;   ///< stream bytes handed over in order
    double send_queue = 0.0;     ///< packets sent that the receiver has not acknowledged in order
    double receive_queue = 0.0;  ///< packets that wait for those before them
    std::vector<PathSample> paths;
};

struct Run {
    std::vector<Sample> samples;
    std::vector<double> mbps_by_second;  ///< handed over in order
    double max_send_queue = 0.0;         ///< packets; looked at every 10 ms
    double mean_send_queue = 0.0;
    double max_receive_queue = 0.0;
    double mean_receive_queue = 0.0;
    double longest_wait_ms = 0.0;
    double mean_wait_ms = 0.0;
    double left_mbps = 0.0;     ///< what the lines carried of goodput at best: all bits that other traffic did not take
    double line_mbps = 0.0;     ///< what came of the connection: all headers, control packets and copies
    double resent_share = 0.0;  ///< stream bytes sent again, for whatever reason
    double reinjected_share = 0.0;  ///< of those, because they were late
    std::uint64_t reinjected_packets = 0;
    std::uint64_t dropped = 0;         ///< by queues
    std::uint64_t lost = 0;            ///< declared by the sender
    std::uint64_t probe_timeouts = 0;  ///< of the first path
    std::uint64_t suspensions = 0;     ///< of the first path
    std::uint64_t revivals = 0;        ///< of the first path: taken for alive again while its packets are damaged
    double window_after = 0.0;         ///< packets, of the first path when a stretch of errors ends; mean
    bool intact = false;
};

[[nodiscard]] Run run_cell(const Cell& cell);

}  // namespace udtx::papers::paths
