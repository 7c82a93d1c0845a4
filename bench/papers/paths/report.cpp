#include "paths/report.hpp"

#include <numeric>
#include <ostream>

namespace udtx::papers::paths {

void write_summary(std::ostream& out, const Cell& cell, const Run& run) {
    const double mbit = std::accumulate(run.mbps_by_second.begin(), run.mbps_by_second.end(), 0.0);
    const auto seconds = static_cast<double>(run.mbps_by_second.size());
    out << "{\"seed\":" << cell.seed << ",\"mbps\":" << (seconds > 0.0 ? mbit / seconds : 0.0)
        << ",\"line_mbps\":" << run.line_mbps << ",\"left_mbps\":" << run.left_mbps
        << ",\"send_queue_max\":" << run.max_send_queue << ",\"send_queue_mean\":" << run.mean_send_queue
        << ",\"receive_queue_max\":" << run.max_receive_queue << ",\"receive_queue_mean\":" << run.mean_receive_queue
        << ",\"reorder_max_ms\":" << run.longest_wait_ms << ",\"reorder_mean_ms\":" << run.mean_wait_ms
        << ",\"resent_share\":" << run.resent_share << ",\"reinjected_share\":" << run.reinjected_share
        << ",\"reinjected_packets\":" << run.reinjected_packets << ",\"dropped\":" << run.dropped
        << ",\"lost\":" << run.lost << ",\"probe_timeouts\":" << run.probe_timeouts
        << ",\"suspensions\":" << run.suspensions << ",\"revivals\":" << run.revivals
        << ",\"window_after\":" << run.window_after << ",\"intact\":" << (run.intact ? "true" : "false")
        << ",\"seconds\":[";
    for (std::size_t i = 0; i < run.mbps_by_second.size(); ++i) out << (i > 0 ? "," : "") << run.mbps_by_second[i];
    out << "]}\n";
}

void write_samples(std::ostream& out, const Run& run) {
    out << "time_s,goodput,send_queue,receive_queue";
    const std::size_t paths = run.samples.empty() ? 0 : run.samples.front().paths.size();
    for (std::size_t i = 1; i <= paths; ++i) {
        out << ",mbps" << i << ",srtt" << i << ",window" << i << ",transmit_times" << i << ",queue" << i
            << ",reinjected" << i << ",active" << i;
    }
    out << '\n';
    for (const Sample& s : run.samples) {
        out << s.end_s << ',' << s.goodput_mbps << ',' << s.send_queue << ',' << s.receive_queue;
        for (const PathSample& p : s.paths) {
            out << ',' << p.mbps << ',' << p.srtt_ms << ',' << p.window_packets << ',' << p.transmit_times << ','
                << p.queue_ms << ',' << p.reinjected_packets << ',' << (p.active ? 1 : 0);
        }
        out << '\n';
    }
}

}  // namespace udtx::papers::paths
