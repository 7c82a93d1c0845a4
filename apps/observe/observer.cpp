#include "observe/observer.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>

#include "common/process.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

using Names = std::array<const char*, kLimits>;
constexpr Names kNames{"sender_disk", "input",      "receiver_disk", "receive_window", "network",   "path_loss",
                       "rate_cap",    "sender_cpu", "receiver_cpu",  "small_data",     "elsewhere", "outage"};
constexpr Names kTexts{"sender disk", "input pipe", "receiver disk", "receive window", "network",           "path loss",
                       "rate cap",    "sender CPU", "receiver CPU",  "small data",     "sender or network", "outage"};
/// Factor per tick by which older packet counts fade. At ten ticks a second, about the last second counts.
constexpr double kFading = 0.9;
constexpr double kEnoughPackets = 50.0;
/// A flush that takes longer than this plus a round trip is slow because of the receiver's disk.
constexpr Duration kQuickFlush = std::chrono::milliseconds(50);

double part(Duration some, Duration whole) { return to_seconds(some) / to_seconds(whole); }

/// What held bytes back for most of the tick. Time since the hold times were last updated counts for the present hold.
SendHold longest_hold(const LimitSample& from, const LimitSample& to, Duration time) {
    HoldTimes spent{};
    Duration rest = time;
    for (std::size_t i = 0; i < spent.size(); ++i) {
        spent[i] = to.held[i] - from.held[i];
        rest -= spent[i];
    }
    if (rest > Duration::zero()) spent[static_cast<std::size_t>(to.hold)] += rest;
    return static_cast<SendHold>(std::max_element(spent.begin(), spent.end()) - spent.begin());
}

std::string percent(double share) { return std::to_string(std::lround(share * 100.0)) + " %"; }

}  // namespace

const char* name_of(Limit limit) noexcept { return kNames[static_cast<std::size_t>(limit)]; }
std::string_view text_of(Limit limit) noexcept { return kTexts[static_cast<std::size_t>(limit)]; }

std::string limit_line(const std::vector<LimitShare>& shares) {
    constexpr std::size_t kListed = 3;
    std::string line;
    for (std::size_t i = 0; i < std::min(shares.size(), kListed); ++i) {
        line += (i == 0 ? "limited by: " : ", ") + std::string(text_of(shares[i].limit)) + " " +
                percent(shares[i].share) + (i == 0 ? " of the time" : "");
    }
    return line;
}

void LimitMeter::sample(const LimitSample& sample) {
    const bool flushing = sample.phase == transfer::Phase::flush || sample.phase == transfer::Phase::verify;
    if (flushing && !all_sent_at_) all_sent_at_ = sample.at;
    if (sample.at > last_.at) {
        const Duration time = sample.at - last_.at;
        const bool stopped = last_.at > Duration::zero() && time >= kStopped;
        now_ = sample.outage || stopped ? Limit::outage : sends_ ? of_sender(sample, time) : of_receiver(sample, time);
        count(sample, time);
    }
    last_ = sample;
}

void LimitMeter::begin_connection() {
    const Duration at = last_.at;
    last_ = {};
    last_.at = at;
    all_sent_at_.reset();
}

void LimitMeter::count(const LimitSample& sample, Duration time) {
    const auto limit = static_cast<std::size_t>(*now_);
    if (!sample.outage && sample.unanswered) {
        unanswered_[limit] += time;
        return;
    }
    // If the peer has answered, the unanswered time counts for its own limits. In an outage all of it counts as outage.
    for (std::size_t i = 0; i < kLimits; ++i) time_[sample.outage ? limit : i] += std::exchange(unanswered_[i], {});
    time_[limit] += time;
}

Limit LimitMeter::of_sender(const LimitSample& s, Duration time) {
    const LimitSample& before = last_;
    recent_sent_ = recent_sent_ * kFading + static_cast<double>(s.sent_packets - before.sent_packets);
    recent_lost_ = recent_lost_ * kFading + static_cast<double>(s.lost_packets - before.lost_packets);
    const bool busy = part(s.protocol - before.protocol, time) >= kBusy;
    const bool receiver_busy = s.receiver && s.receiver->cpu >= kBusy;
    switch (longest_hold(before, s, time)) {
        case SendHold::application:
            return without_data(s, part(s.others - before.others, time));
        case SendHold::credit:
            if (receiver_busy) return Limit::receiver_cpu;
            return s.receiver && s.receiver->disk < kSpare ? Limit::receive_window : Limit::receiver_disk;
        case SendHold::cap:
            return Limit::rate_cap;
        case SendHold::host:
            // Data may be sent, but this host has no time for it, or its interface does not accept it.
            return part(s.protocol - before.protocol, time) >= 0.5 ? Limit::sender_cpu : Limit::network;
        case SendHold::network:
            break;
    }
    if (busy) return Limit::sender_cpu;
    if (receiver_busy) return Limit::receiver_cpu;
    const bool lossy = recent_sent_ >= kEnoughPackets && recent_lost_ >= kLossyShare * recent_sent_;
    return lossy ? Limit::path_loss : Limit::network;
}

Limit LimitMeter::without_data(const LimitSample& s, double others) const {
    if (s.phase == transfer::Phase::transfer && !s.source_read) {
        if (s.streaming) return Limit::input;
        return others >= kBusy ? Limit::sender_cpu : Limit::sender_disk;
    }
    const bool slow = all_sent_at_ && s.at - *all_sent_at_ > s.rtt + kQuickFlush;
    return slow ? Limit::receiver_disk : Limit::small_data;
}

Limit LimitMeter::of_receiver(const LimitSample& s, Duration time) const {
    if (part(s.writing - last_.writing, time) >= kBusy) return Limit::receiver_disk;
    if (part(s.protocol - last_.protocol, time) >= kBusy) return Limit::receiver_cpu;
    return Limit::elsewhere;
}

std::vector<LimitShare> LimitMeter::shares() const {
    std::array<Duration, kLimits> times = time_;
    Duration all{};
    for (std::size_t i = 0; i < kLimits; ++i) all += times[i] += unanswered_[i];
    std::vector<LimitShare> out;
    if (all <= Duration::zero()) return out;
    for (std::size_t i = 0; i < kLimits; ++i) {
        const double share = part(times[i], all);
        if (share >= 0.005) out.push_back({static_cast<Limit>(i), share});
    }
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
    return out;
}

namespace {
/// Round trips for an answer and one retry. This raises the limit on a slow path.
constexpr int kRoundTrips = 4;
}  // namespace

void Silence::look(Duration at, const std::optional<ConnectionStats>& stats) {
    at_ = at;
    if (!stats) return;
    std::uint64_t received = 0;
    std::uint64_t in_flight = 0;
    Duration rtt{};
    for (const PathStats& path : stats->paths) {
        received += path.received_packets;
        in_flight += path.in_flight;
        rtt = std::max(rtt, path.smoothed_rtt);
    }
    usual_ = kRoundTrips * rtt;
    if (received != received_) {
        received_ = received;
        heard_at_ = at;
        since_.reset();
        lost_ = false;
    }
    if (in_flight > 0 && !since_) since_ = at;
}

void Silence::lost(Duration at) {
    at_ = at;
    if (!since_) since_ = receives_ ? heard_at_ : at;
    lost_ = true;
    received_ = 0;
}

namespace {

Duration from_timeval(const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

Json json_of(const PathStats& path, Rate rate) {
    return Json::object({{"id", path.id.value},
                         {"local", to_string(path.local)},
                         {"remote", to_string(path.remote)},
                         {"state", to_string(path.state)},
                         {"rate_bps", rate.bps()},
                         {"rtt_ms", in_milliseconds(path.smoothed_rtt)},
                         {"loss", loss_of(path)},
                         {"mtr_bps", path.congestion.mtr.bps()},
                         {"cd", path.congestion.congestion_degree},
                         {"window", path.window},
                         {"in_flight", path.in_flight}});
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
    const auto latest = latest_.lock();
    latest->streaming = streaming;
    latest->peer = std::move(peer);
    latest->sends = end == DataEnd::sender;
}

void Observer::become(DataEnd end) {
    if (end == end_) return;
    end_ = end;
    limits_ = LimitMeter(end == DataEnd::sender);
    latest_.lock()->sends = end == DataEnd::sender;
}

LimitSample Observer::sample_of(const Glance& glance) const {
    LimitSample s;
    s.at = glance.at;
    s.phase = glance.progress.phase;
    s.source_read = glance.progress.totals_final;
    s.streaming = latest_.lock()->streaming;
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
    const auto latest = latest_.lock();
    latest->at = glance.at;
    latest->progress = glance.progress;
    latest->stats = end_ == DataEnd::sender ? glance.stats : of_data(glance.stats, glance.progress);
    latest->rate = rate_.rate();
    latest->paths = std::move(paths);
    latest->silent = glance.outage ? std::optional(glance.unanswered) : std::nullopt;
    latest->limited_by = limits_.now();
    latest->limits = limits_.shares();
    latest->cap = glance.cap;
}

void Observer::begin_connection() {
    limits_.begin_connection();
    paths_.clear();
}

void accumulate(transfer::Progress& total, const transfer::Progress& next) {
    total.files_done += next.files_done;
    total.files_total += next.files_total;
    total.bytes_done += next.bytes_done;
    total.bytes_total += next.bytes_total;
    total.bytes_kept += next.bytes_kept;
    total.totals_final = total.totals_final && next.totals_final;
}

Observation sum_of(const std::vector<Observation>& transfers) {
    if (transfers.size() == 1) return transfers.front();
    Observation sum;
    sum.progress.phase = transfers.empty() ? transfer::Phase::connect : transfer::Phase::transfer;
    sum.progress.totals_final = !transfers.empty();
    sum.cap = transfers.empty() ? Rate::infinite() : Rate();
    for (const Observation& next : transfers) {
        accumulate(sum.progress, next.progress);
        sum.rate = sum.rate + next.rate;
        sum.cap = sum.cap + next.cap;
    }
    return sum;
}

Rate Observation::rate_of(PathId path) const {
    const auto found = paths.find(path);
    return found == paths.end() ? Rate() : found->second;
}

std::string progress_json(const Observation& seen) {
    const transfer::Progress& progress = seen.progress;
    Json json = Json::object({{"event", "progress"}, {"seconds", to_seconds(seen.at)}});
    if (!seen.peer.empty()) json.add({{"peer", seen.peer}});
    json.add({{"phase", seen.silent ? "outage" : transfer::to_string(progress.phase)},
              {"silent_s", to_seconds(seen.silent.value_or(Duration()))},
              {"bytes_done", progress.bytes_done},
              {"bytes_sent", progress.bytes_sent},
              {"bytes_total", std::max(progress.bytes_total, progress.bytes_done)},
              {"files_done", progress.files_done},
              {"files_total", progress.files_total},
              {"totals_final", progress.totals_final},
              {"resumed_bytes", progress.bytes_kept},
              {"rate_bps", seen.rate.bps()},
              {"cap_bps", seen.cap.bps()},
              {"limited_by", seen.limited_by ? Json(name_of(*seen.limited_by)) : Json(nullptr)}});
    if (progress.job) json.add({{"job", job_json(*progress.job)}});
    json.add({{"paths", Json::array(seen.stats ? seen.stats->paths : std::vector<PathStats>(),
                                    [&](const PathStats& path) { return json_of(path, seen.rate_of(path.id)); })}});
    return json.text();
}

JsonTicker::Print JsonTicker::to_output(Terminal* terminal) {
    return [terminal](const std::string& line) {
        if (terminal != nullptr) return terminal->line(line);
        // If standard output cannot be written, the last object's error reports that.
        (void)write_all(STDOUT_FILENO, line + "\n");
    };
}

void JsonTicker::tick(Duration at, const Observation& seen) {
    constexpr Duration kInterval = std::chrono::seconds(1);
    if (last_ && at - *last_ < kInterval) return;
    last_ = last_ ? *last_ + kInterval : at;
    if (at - *last_ >= kInterval) last_ = at;
    print_(progress_json(seen));
}

std::vector<transfer::JobProgress> jobs_of(const std::vector<Observation>& transfers) {
    std::vector<transfer::JobProgress> jobs;
    for (const Observation& seen : transfers) {
        const auto& job = seen.progress.job;
        if (!job) continue;
        const auto same = [&](const transfer::JobProgress& other) { return other.job == job->job; };
        if (std::ranges::none_of(jobs, same)) jobs.push_back(*job);
    }
    return jobs;
}

std::string job_name(const transfer::JobProgress& job) { return to_hex(job.job); }

std::string job_line(const transfer::JobProgress& job) {
    std::string text =
        "job " + job_name(job) + ": " + format_count(job.done) + " of " + counted(job.count, "shard") + " done";
    if (job.running > 0) text += ", " + format_count(job.running) + " running";
    if (job.failed > 0) text += ", " + format_count(job.failed) + " failed or silent";
    text += ", " + format_count(job.files_done) + " files and parts, ";
    if (job.done == job.count) {
        text += format_bytes(job.bytes_done);
    } else {
        const std::uint64_t total = std::max(job.bytes_total, job.bytes_done);
        if (total > 0)
            text += std::to_string(100 * (job.bytes_done / 1000) / std::max<std::uint64_t>(total / 1000, 1)) + " % of ";
        text += format_bytes(total) + " found";
    }
    if (job.running > 0) {
        text += ", " + format_rate(Rate::bits_per_second(static_cast<double>(job.bits_per_second)));
        text += ", slowest " + std::to_string(job.slowest) + "/" + std::to_string(job.count);
    }
    if (job.failures > 0) text += ", " + format_count(job.failures) + " entries failed";
    return text;
}

Json job_json(const transfer::JobProgress& job) {
    return Json::object({{"name", job_name(job)},
                         {"shard", job.index},
                         {"shards", job.count},
                         {"running", job.running},
                         {"done", job.done},
                         {"failed", job.failed},
                         {"bytes_done", job.bytes_done},
                         {"bytes_total", std::max(job.bytes_total, job.bytes_done)},
                         {"files_done", job.files_done},
                         {"failures", job.failures},
                         {"rate_bps", job.bits_per_second},
                         {"slowest", job.slowest}});
}

}  // namespace udtx::apps
