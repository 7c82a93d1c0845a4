#include "observe/observer.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "common/json_writer.hpp"
#include "common/units.hpp"
#include "observe/job_view.hpp"

namespace udtx::apps {
namespace {

Duration from_timeval(const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

void write_path(JsonWriter& json, const PathStats& path, Rate rate) {
    const double sent = static_cast<double>(std::max<std::uint64_t>(path.sent_packets, 1));
    json.begin_object();
    json.key("id").number(std::uint64_t{path.id.value});
    json.key("local").string(to_string(path.local));
    json.key("remote").string(to_string(path.remote));
    json.key("state").string(to_string(path.state));
    json.key("rate_bps").number(rate.bps());
    json.key("rtt_ms").number(in_milliseconds(path.smoothed_rtt));
    json.key("loss").number(static_cast<double>(path.lost_packets) / sent);
    json.key("mtr_bps").number(path.congestion.mtr.bps());
    json.key("cd").number(path.congestion.congestion_degree);
    json.key("window").number(path.window);
    json.key("in_flight").number(path.in_flight);
    json.end_object();
}

}  // namespace

Duration process_time() noexcept {
    rusage used{};
    if (::getrusage(RUSAGE_SELF, &used) != 0) return {};
    return from_timeval(used.ru_utime) + from_timeval(used.ru_stime);
}

std::optional<ConnectionStats> of_data(std::optional<ConnectionStats> stats, const transfer::Progress& progress) {
    for (std::size_t i = 0; stats && i < stats->paths.size(); ++i) {
        PathStats& path = stats->paths[i];
        const auto told = std::ranges::find(progress.sender, path.id, &transfer::SenderPath::id);
        const transfer::SenderPath from = told == progress.sender.end() ? transfer::SenderPath() : *told;
        path.sent_packets = from.sent_packets;
        path.lost_packets = from.lost_packets;
        path.retransmitted_packets = from.retransmitted_packets;
        path.congestion.mtr = from.mtr;
        if (from.datagram_bytes > 0) path.datagram_bytes = from.datagram_bytes;
    }
    return stats;
}

Observer::Observer(DataEnd end, bool streaming, std::string peer) : end_(end), limits_(end == DataEnd::sender) {
    latest_.streaming = streaming;
    latest_.peer = std::move(peer);
    latest_.sends = end == DataEnd::sender;
}

void Observer::become(DataEnd end) {
    if (end == end_) return;
    end_ = end;
    limits_ = LimitMeter(end == DataEnd::sender);
    const std::lock_guard lock(mutex_);
    latest_.sends = end == DataEnd::sender;
}

LimitSample Observer::sample_of(const Glance& glance) const {
    LimitSample s;
    s.at = glance.at;
    s.phase = glance.progress.phase;
    s.source_read = glance.progress.totals_final;
    s.streaming = latest_.streaming;
    s.receiver = glance.progress.receiver;
    s.protocol = glance.protocol;
    s.others = std::max(glance.process - glance.protocol, Duration::zero());
    s.writing = glance.writing;
    s.unanswered = glance.unanswered > Duration::zero() || glance.quiet;
    s.outage = glance.outage || glance.overdue;
    s.hold = SendHold::application;
    if (!glance.stats) return s;
    s.held = glance.stats->held;
    s.hold = glance.stats->hold;
    for (const PathStats& path : glance.stats->paths) {
        s.sent_packets += path.sent_packets;
        s.lost_packets += path.lost_packets;
        s.rtt = std::max(s.rtt, path.smoothed_rtt);
    }
    return s;
}

void Observer::look(const Glance& glance) {
    rate_.sample(glance.at, glance.progress.bytes_done);
    const bool was_over = std::exchange(over_, glance.progress.phase == transfer::Phase::done);
    // Without a connection nothing limits a transfer. If one follows, its first sample includes the time before it.
    if (!was_over && (glance.connected || glance.outage)) limits_.sample(sample_of(glance));
    std::map<PathId, Rate> paths;
    for (std::size_t i = 0; glance.stats && i < glance.stats->paths.size(); ++i) {
        const PathStats& path = glance.stats->paths[i];
        RateMeter& meter = paths_.try_emplace(path.id, RateMeter::kShortWindow).first->second;
        meter.sample(glance.at - glance.stats_age,
                     end_ == DataEnd::sender ? path.delivered_bytes : path.received_bytes);
        paths[path.id] = meter.rate();
    }
    const std::lock_guard lock(mutex_);
    latest_.at = glance.at;
    latest_.progress = glance.progress;
    latest_.stats = end_ == DataEnd::sender ? glance.stats : of_data(glance.stats, glance.progress);
    latest_.rate = rate_.rate();
    latest_.paths = std::move(paths);
    latest_.silent = glance.outage ? std::optional(glance.unanswered) : std::nullopt;
    latest_.limited_by = limits_.now();
    latest_.limits = limits_.shares();
    latest_.cap = glance.cap;
}

void Observer::begin_connection() {
    limits_.begin_connection();
    paths_.clear();
}

Observation Observer::latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
}

Observation sum_of(const std::vector<Observation>& transfers) {
    if (transfers.size() == 1) return transfers.front();
    Observation sum;
    sum.progress.phase = transfers.empty() ? transfer::Phase::connect : transfer::Phase::transfer;
    sum.progress.totals_final = !transfers.empty();
    sum.cap = transfers.empty() ? Rate::infinite() : Rate();
    for (const Observation& next : transfers) {
        sum.progress.files_done += next.progress.files_done;
        sum.progress.files_total += next.progress.files_total;
        sum.progress.bytes_done += next.progress.bytes_done;
        sum.progress.bytes_total += next.progress.bytes_total;
        sum.progress.bytes_kept += next.progress.bytes_kept;
        sum.progress.totals_final = sum.progress.totals_final && next.progress.totals_final;
        sum.rate = sum.rate + next.rate;
        sum.cap = sum.cap + next.cap;
    }
    return sum;
}

std::string progress_json(const Observation& seen) {
    const transfer::Progress& progress = seen.progress;
    JsonWriter json;
    json.begin_object();
    json.key("event").string("progress");
    json.key("seconds").number(to_seconds(seen.at));
    if (!seen.peer.empty()) json.key("peer").string(seen.peer);
    json.key("phase").string(seen.silent ? "outage" : transfer::to_string(progress.phase));
    json.key("silent_s").number(to_seconds(seen.silent.value_or(Duration())));
    json.key("bytes_done").number(progress.bytes_done);
    json.key("bytes_sent").number(progress.bytes_sent);
    json.key("bytes_total").number(std::max(progress.bytes_total, progress.bytes_done));
    json.key("files_done").number(progress.files_done);
    json.key("files_total").number(progress.files_total);
    json.key("totals_final").boolean(progress.totals_final);
    json.key("resumed_bytes").number(progress.bytes_kept);
    json.key("rate_bps").number(seen.rate.bps());
    json.key("cap_bps");
    seen.cap.is_infinite() ? json.null() : json.number(seen.cap.bps());
    json.key("limited_by");
    seen.limited_by ? json.string(name_of(*seen.limited_by)) : json.null();
    if (progress.job) {
        json.key("job");
        write_job(json, *progress.job);
    }
    json.key("paths").begin_array();
    for (std::size_t i = 0; seen.stats && i < seen.stats->paths.size(); ++i) {
        const PathStats& path = seen.stats->paths[i];
        const auto rate = seen.paths.find(path.id);
        write_path(json, path, rate == seen.paths.end() ? Rate() : rate->second);
    }
    json.end_array().end_object();
    return json.text();
}

}  // namespace udtx::apps
