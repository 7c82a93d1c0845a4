#include "observe/prometheus.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

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
template <class Of>
struct Metric {
    const char* name;
    const char* type;
    const char* help;
    double (*value)(const Of&);
};

// Values in the base units of the metrics.
double in_base_unit(std::uint64_t count) { return static_cast<double>(count); }
double in_base_unit(Duration time) { return to_seconds(time); }
double in_base_unit(Rate rate) { return rate.bytes_per_second(); }

/// The value of a metric that is a member of the measured object.
template <auto field, class Of>
double of(const Of& measured) {
    return in_base_unit(measured.*field);
}
template <auto field>
double of_progress(const Observation& seen) {
    return in_base_unit(seen.progress.*field);
}

using transfer::Progress;
constexpr std::array<Metric<Observation>, 7> kTransferMetrics{{
    {"udtx_transfer_seconds", "gauge", "Since the transfer began.", of<&Observation::at>},
    {"udtx_transfer_done_bytes_total", "counter", "File bytes verified and written at the receiver.",
     of_progress<&Progress::bytes_done>},
    {"udtx_transfer_found_bytes", "gauge", "File bytes found so far.", of_progress<&Progress::bytes_total>},
    {"udtx_transfer_done_files_total", "counter", "Files under their final name at the receiver.",
     of_progress<&Progress::files_done>},
    {"udtx_transfer_found_files", "gauge", "Files found so far.", of_progress<&Progress::files_total>},
    {"udtx_transfer_rate_bytes_per_second", "gauge", "File bytes done, of the last two seconds.",
     of<&Observation::rate>},
    {"udtx_transfer_cap_bytes_per_second", "gauge", "The rate cap as it is now.", of<&Observation::cap>},
}};

constexpr std::array<Metric<PathStats>, 17> kPathMetrics{{
    {"udtx_path_up", "gauge", "1 while the path carries data.",
     [](const PathStats& p) { return p.state == PathState::active ? 1.0 : 0.0; }},
    {"udtx_path_rtt_seconds", "gauge", "Smoothed round-trip time.", of<&PathStats::smoothed_rtt>},
    {"udtx_path_min_rtt_seconds", "gauge", "Shortest round-trip time.", of<&PathStats::min_rtt>},
    {"udtx_path_mtr_bytes_per_second", "gauge", "Maximum transfer rate seen by packet pairs; 0: not measured.",
     [](const PathStats& p) { return p.congestion.mtr.bytes_per_second(); }},
    {"udtx_path_congestion_degree", "gauge", "0 to 1.",
     [](const PathStats& p) { return p.congestion.congestion_degree; }},
    {"udtx_path_pacing_bytes_per_second", "gauge", "Rate at which packets may leave.", of<&PathStats::pacing_rate>},
    {"udtx_path_window_bytes", "gauge", "Congestion window.", of<&PathStats::window>},
    {"udtx_path_in_flight_bytes", "gauge", "Sent and not acknowledged.", of<&PathStats::in_flight>},
    {"udtx_path_datagram_bytes", "gauge", "UDP payload of a full datagram.", of<&PathStats::datagram_bytes>},
    {"udtx_path_sent_packets_total", "counter", "Packets sent.", of<&PathStats::sent_packets>},
    {"udtx_path_sent_bytes_total", "counter", "UDP payload sent.", of<&PathStats::sent_bytes>},
    {"udtx_path_received_packets_total", "counter", "Packets received.", of<&PathStats::received_packets>},
    {"udtx_path_received_bytes_total", "counter", "UDP payload received.", of<&PathStats::received_bytes>},
    {"udtx_path_lost_packets_total", "counter", "Packets declared lost.", of<&PathStats::lost_packets>},
    {"udtx_path_delivered_bytes_total", "counter", "Stream bytes acknowledged here, copies included.",
     of<&PathStats::delivered_bytes>},
    {"udtx_path_reinjected_bytes_total", "counter", "Sent here because they were late on another path.",
     of<&PathStats::reinjected_bytes>},
    {"udtx_path_suspensions_total", "counter", "Times the path stopped answering.", of<&PathStats::suspensions>},
}};

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

using transfer::JobProgress;
constexpr std::array<Metric<JobProgress>, 6> kJobMetrics{{
    {"udtx_job_done_bytes", "gauge", "File bytes at the receivers, of the shards that have begun.",
     of<&JobProgress::bytes_done>},
    {"udtx_job_found_bytes", "gauge", "File bytes found so far, of these shards.", of<&JobProgress::bytes_total>},
    {"udtx_job_done_files", "gauge", "Files at the receivers; a part of a file counts as one.",
     of<&JobProgress::files_done>},
    {"udtx_job_failed_entries", "gauge", "Entries that did not arrive.", of<&JobProgress::failures>},
    {"udtx_job_rate_bytes_per_second", "gauge", "Arriving at all receivers.",
     [](const JobProgress& j) { return static_cast<double>(j.bits_per_second) / 8; }},
    {"udtx_job_slowest_shard", "gauge", "The running shard with the longest way to go.", of<&JobProgress::slowest>},
}};

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
    for (const auto& metric : kJobMetrics) {
        page.metric(metric.name, metric.type, metric.help);
        for (const transfer::JobProgress& job : jobs) page.sample({{"job", job_name(job)}}, metric.value(job));
    }
}

}  // namespace

std::string metrics_text(const MetricsView& view) {
    Exposition page;
    page.metric("udtx_info", "gauge", "Which tool this is.");
    page.sample({{"role", view.role}, {"version", view.version}}, 1.0);
    const auto count = [&page](const char* name, const char* type, const char* help, std::uint64_t value) {
        page.metric(name, type, help);
        page.sample({}, static_cast<double>(value));
    };
    count("udtx_transfers_active", "gauge", "Transfers under way.", view.transfers.size());
    count("udtx_transfers_ended_total", "counter", "Transfers that have ended.", view.transfers_ended);
    count("udtx_transfers_failed_total", "counter", "Transfers that did not deliver everything.",
          view.transfers_failed);
    count("udtx_bytes_ended_total", "counter", "File bytes of the transfers that have ended.", view.bytes_ended);
    count("udtx_refused_total", "counter", "Handshakes that were refused.", view.refused);
    for (const auto& metric : kTransferMetrics) {
        page.metric(metric.name, metric.type, metric.help);
        for (const Observation& seen : view.transfers) page.sample(labels_of(seen), metric.value(seen));
    }
    write_jobs(page, view.transfers);
    write_limits(page, view.transfers);
    for (const auto& metric : kPathMetrics) {
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
        if (request.target != "/metrics" && request.target != "/") {
            return HttpReply{.status = 404, .body = "use /metrics\n"};
        }
        return HttpReply{.type = kMetricsType, .body = page()};
    });
    if (!server) return Error{server.error().code, "--metrics: " + server.error().message};
    log.info("metrics on http://" + (*server)->address() + "/metrics");
    return server;
}

}  // namespace udtx::apps
