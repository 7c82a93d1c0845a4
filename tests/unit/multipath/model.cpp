#include "unit/multipath/model.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::multipath::test {

namespace {

enum Tag : std::uint64_t { pump_tag = 0, arrival_tag = 1, ack_tag = 2 };
constexpr std::uint64_t tag_of(Tag tag, std::uint64_t index) { return index << 2U | tag; }

std::uint64_t contiguous(const RangeSet& set) { return set.empty() || set.front().begin > 0 ? 0 : set.front().end; }

}  // namespace

Model::Model(const ModelOptions& options, std::vector<ModelPath> paths)
    : options_(options),
      random_(options.seed),
      scheduler_(make_path_scheduler(options.scheduler).value()),
      record_(options.kind),
      end_(options.total_bytes > 0 ? options.total_bytes : 1ULL << 50U) {
    for (auto& config : paths) {
        PathState state;
        const double bdp = config.mbps * 1e6 / 8.0 * to_seconds(config.rtt);
        state.window = config.window_packets > 0 ? config.window_packets * kPacket : std::max(2.0 * bdp, 4.0 * kPacket);
        state.config = std::move(config);
        state.departure = state.backlog_at = state.last_arrival = queue_.now();
        // The handshake has measured the RTT of the path.
        state.smoothed_rtt = state.min_rtt = to_seconds(state.config.rtt);
        paths_.push_back(std::move(state));
    }
    result_.sent.resize(paths_.size());
    result_.sent_last.resize(paths_.size());
    views_.resize(paths_.size());
}

ModelResult Model::run() {
    queue_.schedule(queue_.now(), *this, pump_tag);
    std::uint64_t before = 0;
    double total = 0.0;
    for (int second = 1; second <= static_cast<int>(std::ceil(options_.seconds)) && !result_.completed; ++second) {
        queue_.run_until(sim::kStart + std::chrono::seconds(second));
        const std::uint64_t delivered =
            options_.kind == StreamKind::ordered ? contiguous(received_) : received_.total();
        result_.mbps_by_second.push_back(static_cast<double>(delivered - before) * 8e-6);
        if (second > 1) total += result_.mbps_by_second.back();
        before = delivered;
    }
    const std::size_t seconds = result_.mbps_by_second.size();
    result_.mbps = seconds > 1 ? total / static_cast<double>(seconds - 1) : 0.0;
    result_.mean_held = held_sum_ / static_cast<double>(std::max<std::uint64_t>(arrivals_, 1));
    result_.duplicate_share =
        static_cast<double>(duplicate_bytes_) / static_cast<double>(std::max<std::uint64_t>(bytes_, 1));
    if (alarm_since_) result_.alarm_seconds += to_seconds(queue_.now() - *alarm_since_);
    return result_;
}

void Model::on_due(Instant now, std::uint64_t tag) {
    switch (static_cast<Tag>(tag & 3U)) {
        case pump_tag:
            if (pump_at_ && *pump_at_ <= now) pump_at_.reset();
            pump();
            break;
        case arrival_tag:
            on_arrival(tag >> 2U);
            break;
        case ack_tag:
            on_ack(tag >> 2U);
            break;
    }
}

void Model::refresh() {
    const Instant now = queue_.now();
    for (std::size_t i = 0; i < paths_.size(); ++i) {
        const PathState& path = paths_[i];
        PathView& view = views_[i];
        view.id = PathId{static_cast<std::uint8_t>(i)};
        view.datagram_bytes = kPacket;
        view.window = static_cast<std::uint64_t>(path.window);
        view.in_flight = path.in_flight;
        view.departure = path.departure;
        view.rate = Rate::bits_per_second(path.config.mbps * 1e6);
        view.smoothed_rtt = from_seconds(path.smoothed_rtt);
        view.min_rtt = from_seconds(path.min_rtt);
        view.may_send = path.departure <= now && path.in_flight + kPacket <= view.window;
    }
    demand_.kind = options_.kind;
    demand_.again = !lost_.empty();
    demand_.next = contiguous(assigned_);
    demand_.ahead = assigned_.intervals();
    if (demand_.next > 0) demand_.ahead = demand_.ahead.subspan(1);
    demand_.ahead_bytes = assigned_.total() - demand_.next;
    demand_.data_acked = contiguous(acked_);
    demand_.receive_window = static_cast<std::uint64_t>(options_.receive_packets * kPacket);
    demand_.limit = options_.kind == StreamKind::ordered ? demand_.data_acked + demand_.receive_window : 1ULL << 60U;
    demand_.written = end_;
    demand_.end_known = options_.total_bytes > 0;
    demand_.remaining = end_ - assigned_.total() + lost_.total();
}

void Model::pump() {
    const auto unfinished = [this] { return received_.total() < end_; };
    while (unfinished()) {
        refresh();
        if (options_.kind == StreamKind::ordered) {
            const std::uint64_t highest = assigned_.empty() ? 0 : assigned_.back().end;
            monitor_.update(queue_.now(), highest - demand_.data_acked, record_, views_);
            if (monitor_.culprit() && !alarm_since_) alarm_since_ = queue_.now();
            if (!monitor_.culprit() && alarm_since_) {
                result_.alarm_seconds += to_seconds(queue_.now() - *alarm_since_);
                alarm_since_.reset();
            }
        }
        if (!reinject() && !send_new()) break;
    }
    // Acknowledgements also call pump(), so only the timers of the pacers and the reinjector are needed.
    std::optional<Instant> next = options_.reinject ? reinjector_.wakeup() : std::nullopt;
    for (const PathState& path : paths_) {
        if (path.departure > queue_.now() && (!next || path.departure < *next)) next = path.departure;
    }
    if (!unfinished() || !next || *next <= queue_.now()) return;
    if (pump_at_ && *pump_at_ <= *next) return;
    pump_at_ = next;
    queue_.schedule(*next, *this, pump_tag);
}

bool Model::reinject() {
    if (!options_.reinject) return false;
    const auto copy = reinjector_.next(queue_.now(), demand_, record_, monitor_.culprit(), views_);
    if (!copy) return false;
    send(copy->path.value, copy->range, true, copy->entry, false);
    record_.on_copied(queue_.now(), copy->entry, copy->range.end);
    reinjector_.on_sent(*copy, copy->range.end);
    ++result_.copies;
    return true;
}

bool Model::send_new() {
    const std::uint64_t end = std::min(end_, demand_.limit);
    const Range first = assigned_.first_gap(demand_.next, end);
    if (first.size() == 0 && lost_.empty()) return false;
    const auto pick = scheduler_->pick(queue_.now(), demand_, views_);
    if (!pick) return false;
    Range range;
    if (pick->duplicate) {
        range = newest_;
        if (!budget_.allows_probe(range.size())) range.end = range.begin;  // a PING instead
        budget_.on_probe(range.size());
        send(pick->path.value, range, true, std::nullopt, false);
        scheduler_->on_sent(queue_.now(), *pick, range.size());
        return true;
    }
    const bool again = !lost_.empty();
    if (again) {
        range = lost_.front();
    } else {
        range = assigned_.first_gap(pick->from, end);
    }
    range.end = std::min(range.end, range.begin + kPacket);
    if (range.size() == 0) return false;
    if (again) {
        lost_.erase(range.begin, range.end);
    } else {
        assigned_.insert(range.begin, range.end);
        budget_.on_new_bytes(range.size());
    }
    send(pick->path.value, range, false, std::nullopt, again);
    scheduler_->on_sent(queue_.now(), *pick, range.size());
    return true;
}

// A fluid queue in front of the link, which other traffic fills as well.
Duration Model::transit(PathState& path) {
    const Instant now = queue_.now();
    const double line = path.config.mbps * 1e6 / 8.0;
    while (path.backlog_at < now) {
        const Duration step = std::min(now - path.backlog_at, Duration(std::chrono::milliseconds(10)));
        const double at = to_seconds(path.backlog_at - sim::kStart);
        const double cross = path.config.cross_mbps ? path.config.cross_mbps(at) * 1e6 / 8.0 : 0.0;
        path.backlog = std::max(0.0, path.backlog + (cross - line) * to_seconds(step));
        path.backlog_at += step;
    }
    path.backlog += kPacket;
    Duration delay = from_seconds(path.backlog / line) + path.config.rtt / 2;
    if (path.config.extra_delay) delay += path.config.extra_delay(seconds());
    if (path.config.jitter > Duration::zero()) {
        delay +=
            Duration(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(path.config.jitter.count()))));
    }
    return delay;
}

void Model::send(std::size_t path, Range range, bool duplicate, std::optional<RecordRef> ref, bool again) {
    PathState& p = paths_[path];
    const Instant now = queue_.now();
    const PathId id{static_cast<std::uint8_t>(path)};
    Packet packet;
    packet.path = path;
    packet.range = range;
    packet.sent = now;
    packet.duplicate = duplicate;
    packet.tracked = ref || !duplicate;
    if (ref) packet.ref = *ref;
    if (!duplicate) {
        packet.ref = record_.on_assigned(now, id, range, again, from_seconds(p.smoothed_rtt));
        newest_ = range;
        result_.sent_last[path] = seconds();
        result_.sent[path] += range.size();
    } else {
        duplicate_bytes_ += range.size();
    }
    bytes_ += range.size();
    p.in_flight += kPacket;
    p.departure = std::max(p.departure, now) + Rate::bits_per_second(p.config.mbps * 1e6).time_for(kPacket);
    packet.arrives = !p.config.loss || !random_.chance(p.config.loss(seconds()));
    packets_.push_back(packet);
    Instant at = now + transit(p);
    if (p.config.jitter == Duration::zero()) at = std::max(at, p.last_arrival);  // links keep the order
    p.last_arrival = at;
    queue_.schedule(at, *this, tag_of(arrival_tag, packets_.size() - 1));
}

void Model::on_arrival(std::uint64_t index) {
    Packet& packet = packets_[index];
    if (packet.arrives && packet.range.size() > 0) {
        received_.insert(packet.range.begin, packet.range.end);
        const double held = static_cast<double>(received_.total() - contiguous(received_)) / kPacket;
        result_.max_held = std::max(result_.max_held, held);
        held_sum_ += held;
        ++arrivals_;
        if (received_.total() >= end_ && !result_.completed) result_.completed = seconds();
    }
    packet.data_acked = contiguous(received_);
    queue_.schedule(queue_.now() + paths_[packet.path].config.rtt / 2, *this, tag_of(ack_tag, index));
}

void Model::on_ack(std::uint64_t index) {
    const Packet& packet = packets_[index];
    PathState& path = paths_[packet.path];
    path.in_flight -= kPacket;
    if (packet.data_acked > 0) {
        acked_.insert(0, packet.data_acked);
        if (options_.kind == StreamKind::ordered) record_.on_data_acked(packet.data_acked);
    }
    if (packet.arrives) {
        const double rtt = to_seconds(queue_.now() - packet.sent);
        path.smoothed_rtt += (rtt - path.smoothed_rtt) / 8.0;
        path.min_rtt = std::min(path.min_rtt, rtt);
        if (packet.range.size() > 0) acked_.insert(packet.range.begin, packet.range.end);
        if (packet.tracked) record_.on_acked(packet.ref);
    } else if (!packet.duplicate) {
        record_.on_lost(packet.ref);
        acked_.for_each_gap(packet.range.begin, packet.range.end,
                            [this](std::uint64_t b, std::uint64_t e) { lost_.insert(b, e); });
    }
    pump();
}

}  // namespace udtx::multipath::test
