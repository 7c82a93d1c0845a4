#include "trace.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace udtx::wan {

void Trace::Close::operator()(std::FILE* file) const noexcept { std::fclose(file); }

Result<Trace::File> Trace::open_file(const std::string& name, const char* heading) {
    if (name.empty()) return File();
    File file(std::fopen(name.c_str(), "we"));
    if (!file) return Error{ErrorCode::file_io, "cannot write " + name + ": " + std::strerror(errno)};
    std::fputs(heading, file.get());
    return file;
}

Result<Trace> Trace::open(const std::string& line_file, const std::string& flow_file, Duration interval) {
    Trace trace(interval);
    auto lines = open_file(line_file,
                           "time,line,queue_bytes,queue_peak,wait_ms,offered,queued,delivered,delivered_bytes,"
                           "dropped_queue,dropped_loss,cross_bytes,offered_bytes\n");
    if (!lines) return lines.error();
    auto flows = open_file(flow_file, "time,line,flow,delivered_bytes\n");
    if (!flows) return flows.error();
    trace.lines_ = std::move(*lines);
    trace.flows_ = std::move(*flows);
    return trace;
}

void Trace::sample(Instant now, const std::string& name, Line& line) {
    const double time = to_seconds(now.time_since_epoch());
    Before& before = before_[name];
    const std::uint64_t queue = line.queue_bytes(now);
    const LineCounters& c = line.counters();
    if (lines_) {
        const std::uint64_t queued = c.queued - before.counters.queued;
        const double waited = c.wait_seconds - before.counters.wait_seconds;
        const double wait_ms = queued > 0 ? waited * 1e3 / static_cast<double>(queued) : 0.0;
        std::fprintf(lines_.get(),
                     "%.6f,%s,%" PRIu64 ",%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                     ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                     time, name.c_str(), queue, line.take_queue_peak(), wait_ms, c.offered, c.queued, c.delivered,
                     c.delivered_bytes, c.dropped_queue, c.dropped_loss + c.dropped_burst, c.cross_bytes,
                     c.offered_bytes);
    }
    if (flows_) {
        const auto& flows = line.delivered_bytes();
        for (std::size_t flow = 0; flow < kFlows; ++flow) {
            if (flows[flow] == before.flows[flow]) continue;
            std::fprintf(flows_.get(), "%.6f,%s,%zu,%" PRIu64 "\n", time, name.c_str(), flow, flows[flow]);
        }
        before.flows = flows;
    }
    before.counters = c;
}

}  // namespace udtx::wan
