#include "observe/prometheus.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "observe/observer.hpp"

namespace udtx::apps {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string number(double value) {
    if (!std::isfinite(value)) return value > 0.0 ? "+Inf" : "NaN";
    std::array<char, 64> buffer{};
    // to_chars, because printf's decimal point depends on the locale.
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return error == std::errc() ? std::string(buffer.data(), end) : "NaN";
}

std::string quoted(const std::string& value) {
    std::string out = "\"";
    for (const char c : value) {
        if (c == '\\' || c == '"') out += '\\';
        out += c == '\n' ? "\\n" : std::string(1, c);
    }
    return out + "\"";
}

/// One metric: its help and type, then its samples.
class Exposition {
  public:
    void metric(const char* name, const char* type, const char* help) {
        name_ = name;
        text_ += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
    }
    void sample(const Labels& labels, double value) {
        text_ += name_;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            text_ += (i == 0 ? "{" : ",") + labels[i].first + "=" + quoted(labels[i].second);
        }
        text_ += (labels.empty() ? " " : "} ") + number(value) + "\n";
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

  private:
    std::string name_;
    std::string text_;
};

// Names that `promtool check metrics` accepts: base units, unlike the units of other output, and _total for counters.
struct TransferMetric {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const Observation&);
};
constexpr std::array kTransferMetrics{
    TransferMetric{"udtx_transfer_seconds", "gauge", "Since the transfer began.",
                   [](const Observation& o) { return to_seconds(o.at); }},
    TransferMetric{"udtx_transfer_done_bytes_total", "counter", "File bytes verified and written at the receiver.",
                   [](const Observation& o) { return static_cast<double>(o.progress.bytes_done); }},
    TransferMetric{"udtx_transfer_found_bytes", "gauge", "File bytes found so far.",
                   [](const Observation& o) { return static_cast<double>(o.progress.bytes_total); }},
    TransferMetric{"udtx_transfer_done_files_total", "counter", "Files under their final name at the receiver.",
                   [](const Observation& o) { return static_cast<double>(o.progress.files_done); }},
    TransferMetric{"udtx_transfer_found_files", "gauge", "Files found so far.",
                   [](const Observation& o) { return static_cast<double>(o.progress.files_total); }},
    TransferMetric{"udtx_transfer_rate_bytes_per_second", "gauge", "File bytes done, of the last two seconds.",
                   [](const Observation& o) { return o.rate.bytes_per_second(); }},
    TransferMetric{"udtx_transfer_cap_bytes_per_second", "gauge", "The rate cap as it is now.",
                   [](const Observation& o) { return o.cap.bytes_per_second(); }},
};

struct PathMetric {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const PathStats&);
};
constexpr std::array kPathMetrics{
    PathMetric{"udtx_path_up", "gauge", "1 while the path carries data.",
               [](const PathStats& p) { return p.state == PathState::active ? 1.0 : 0.0; }},
    PathMetric{"udtx_path_rtt_seconds", "gauge", "Smoothed round-trip time.",
               [](const PathStats& p) { return to_seconds(p.smoothed_rtt); }},
    PathMetric{"udtx_path_min_rtt_seconds", "gauge", "Shortest round-trip time.",
               [](const PathStats& p) { return to_seconds(p.min_rtt); }},
    PathMetric{"udtx_path_mtr_bytes_per_second", "gauge",
               "Maximum transfer rate seen by packet pairs; 0: not measured.",
               [](const PathStats& p) { return p.congestion.mtr.bytes_per_second(); }},
    PathMetric{"udtx_path_congestion_degree", "gauge", "0 to 1.",
               [](const PathStats& p) { return p.congestion.congestion_degree; }},
    PathMetric{"udtx_path_pacing_bytes_per_second", "gauge", "Rate at which packets may leave.",
               [](const PathStats& p) { return p.pacing_rate.bytes_per_second(); }},
    PathMetric{"udtx_path_window_bytes", "gauge", "Congestion window.",
               [](const PathStats& p) { return static_cast<double>(p.window); }},
    PathMetric{"udtx_path_in_flight_bytes", "gauge", "Sent and not acknowledged.",
               [](const PathStats& p) { return static_cast<double>(p.in_flight); }},
    PathMetric{"udtx_path_datagram_bytes", "gauge", "UDP payload of a full datagram.",
               [](const PathStats& p) { return static_cast<double>(p.datagram_bytes); }},
    PathMetric{"udtx_path_sent_packets_total", "counter", "Packets sent.",
               [](const PathStats& p) { return static_cast<double>(p.sent_packets); }},
    PathMetric{"udtx_path_sent_bytes_total", "counter", "UDP payload sent.",
               [](const PathStats& p) { return static_cast<double>(p.sent_bytes); }},
    PathMetric{"udtx_path_received_packets_total", "counter", "Packets received.",
               [](const PathStats& p) { return static_cast<double>(p.received_packets); }},
    PathMetric{"udtx_path_received_bytes_total", "counter", "UDP payload received.",
               [](const PathStats& p) { return static_cast<double>(p.received_bytes); }},
    PathMetric{"udtx_path_lost_packets_total", "counter", "Packets declared lost.",
               [](const PathStats& p) { return static_cast<double>(p.lost_packets); }},
    PathMetric{"udtx_path_delivered_bytes_total", "counter", "Stream bytes acknowledged here, copies included.",
               [](const PathStats& p) { return static_cast<double>(p.delivered_bytes); }},
    PathMetric{"udtx_path_reinjected_bytes_total", "counter", "Sent here because they were late on another path.",
               [](const PathStats& p) { return static_cast<double>(p.reinjected_bytes); }},
    PathMetric{"udtx_path_suspensions_total", "counter", "Times the path stopped answering.",
               [](const PathStats& p) { return static_cast<double>(p.suspensions); }},
};

Labels labels_of(const Observation& seen) {
    return {{"peer", seen.peer}, {"direction", seen.sends ? "send" : "receive"}};
}

void write_limits(Exposition& page, const std::vector<Observation>& transfers) {
    page.metric("udtx_transfer_limited_ratio", "gauge", "Part of the time for which this limited the transfer.");
    for (const Observation& seen : transfers) {
        for (const LimitShare& share : seen.limits) {
            Labels labels = labels_of(seen);
            labels.emplace_back("limit", name_of(share.limit));
            page.sample(labels, share.share);
        }
    }
}

struct JobMetric {
    const char* name;
    const char* help;
    double (*value)(const transfer::JobProgress&);
};
constexpr std::array kJobMetrics{
    JobMetric{"udtx_job_done_bytes", "File bytes at the receivers, of the shards that have begun.",
              [](const transfer::JobProgress& j) { return static_cast<double>(j.bytes_done); }},
    JobMetric{"udtx_job_found_bytes", "File bytes found so far, of these shards.",
              [](const transfer::JobProgress& j) { return static_cast<double>(j.bytes_total); }},
    JobMetric{"udtx_job_done_files", "Files at the receivers; a part of a file counts as one.",
              [](const transfer::JobProgress& j) { return static_cast<double>(j.files_done); }},
    JobMetric{"udtx_job_failed_entries", "Entries that did not arrive.",
              [](const transfer::JobProgress& j) { return static_cast<double>(j.failures); }},
    JobMetric{"udtx_job_rate_bytes_per_second", "Arriving at all receivers.",
              [](const transfer::JobProgress& j) { return static_cast<double>(j.bits_per_second) / 8; }},
    JobMetric{"udtx_job_slowest_shard", "The running shard with the longest way to go.",
              [](const transfer::JobProgress& j) { return static_cast<double>(j.slowest); }},
};

void write_jobs(Exposition& page, const std::vector<Observation>& transfers) {
    const auto jobs = jobs_of(transfers);
    page.metric("udtx_job_shards", "gauge", "Shards of a job, by what they do.");
    for (const transfer::JobProgress& job : jobs) {
        const std::size_t begun = job.running + job.done + job.failed;
        const std::array<std::pair<const char*, std::size_t>, 4> states{
            {{"running", job.running}, {"done", job.done}, {"failed", job.failed}, {"waiting", job.count - begun}}};
        for (const auto& [state, count] : states) {
            page.sample({{"job", job_name(job)}, {"state", state}}, static_cast<double>(count));
        }
    }
    for (const JobMetric& metric : kJobMetrics) {
        page.metric(metric.name, "gauge", metric.help);
        for (const transfer::JobProgress& job : jobs) page.sample({{"job", job_name(job)}}, metric.value(job));
    }
}

}  // namespace

std::string metrics_text(const MetricsView& view) {
    Exposition page;
    page.metric("udtx_info", "gauge", "Which tool this is.");
    page.sample({{"role", view.role}, {"version", view.version}}, 1.0);
    page.metric("udtx_transfers_active", "gauge", "Transfers under way.");
    page.sample({}, static_cast<double>(view.transfers.size()));
    page.metric("udtx_transfers_ended_total", "counter", "Transfers that have ended.");
    page.sample({}, static_cast<double>(view.transfers_ended));
    page.metric("udtx_transfers_failed_total", "counter", "Transfers that did not deliver everything.");
    page.sample({}, static_cast<double>(view.transfers_failed));
    page.metric("udtx_bytes_ended_total", "counter", "File bytes of the transfers that have ended.");
    page.sample({}, static_cast<double>(view.bytes_ended));
    page.metric("udtx_refused_total", "counter", "Handshakes that were refused.");
    page.sample({}, static_cast<double>(view.refused));
    for (const TransferMetric& metric : kTransferMetrics) {
        page.metric(metric.name, metric.type, metric.help);
        for (const Observation& seen : view.transfers) page.sample(labels_of(seen), metric.value(seen));
    }
    write_jobs(page, view.transfers);
    write_limits(page, view.transfers);
    for (const PathMetric& metric : kPathMetrics) {
        page.metric(metric.name, metric.type, metric.help);
        for (const Observation& seen : view.transfers) {
            if (!seen.stats) continue;
            for (const PathStats& path : seen.stats->paths) {
                page.sample({{"peer", seen.peer},
                             {"path", std::to_string(path.id.value)},
                             {"local", host_text(path.local)},
                             {"remote", to_string(path.remote)}},
                            metric.value(path));
            }
        }
    }
    return page.text();
}

Result<std::unique_ptr<HttpServer>> serve_metrics(const CommonOptions& options, Log& log,
                                                  std::function<std::string()> page) {
    if (!options.metrics) return std::unique_ptr<HttpServer>();
    auto server = HttpServer::start(*options.metrics, [page = std::move(page)](const HttpRequest& request) {
        if (request.target == "/metrics" || request.target == "/") return HttpReply{200, kMetricsType, page()};
        return HttpReply{404, "text/plain; charset=utf-8", "use /metrics\n"};
    });
    if (!server) return Error{server.error().code, "--metrics: " + server.error().message};
    log.info("metrics on http://" + (*server)->address() + "/metrics");
    return server;
}

}  // namespace udtx::apps
