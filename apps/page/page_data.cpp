#include "page/page_data.hpp"

#include <algorithm>
#include <cmath>

#include "common/text.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

std::uint64_t grown(std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; }

/// For each path that is in use.
template <class Transfers, class Do>
void for_each_path(Transfers& transfers, const Do& action) {
    for (const Observation& seen : transfers) {
        if (!seen.stats) continue;
        for (const PathStats& path : seen.stats->paths) {
            if (path.state != PathState::closed) action(seen, path);
        }
    }
}

}  // namespace

void PageData::look(Duration at, std::vector<Observation> transfers) {
    at_ = at;
    transfers_ = std::move(transfers);
    std::stable_sort(transfers_.begin(), transfers_.end(),
                     [](const auto& a, const auto& b) { return a.rate > b.rate; });
    std::map<LineKey, Line> still;
    for_each_path(transfers_, [&](const Observation& seen, const PathStats& path) {
        const auto line = lines_.find({seen.peer, path.id});
        if (line != lines_.end()) still.insert(*line);
    });
    // A connection that takes the place of a lost one goes on where that ended.
    for (const Observation& seen : transfers_) {
        if (seen.stats) continue;
        for (const auto& line : lines_) {
            if (line.first.first == seen.peer) still.insert(line);
        }
    }
    lines_ = std::move(still);
}

void PageData::sample() {
    const Observation sum = sum_of(transfers_);
    newest_ = {};
    newest_.at = to_seconds(at_);
    newest_.rate_bps = sum.rate.bps();
    newest_.cap_bps = sum.cap.is_infinite() ? std::nan("") : sum.cap.bps();
    newest_.done = static_cast<double>(sum.progress.bytes_done);
    newest_.queued =
        sends() ? static_cast<double>(grown(sum.progress.bytes_done, sum.progress.bytes_sent)) : std::nan("");
    // A line that was begun goes on, however fast others are; what room there is goes to the fastest.
    const auto drawn = lines_;
    for_each_path(transfers_, [&](const Observation& seen, const PathStats& path) {
        if (drawn.contains({seen.peer, path.id})) draw(seen, path, lines_.at({seen.peer, path.id}));
    });
    for_each_path(transfers_, [&](const Observation& seen, const PathStats& path) {
        if (lines_.size() < kMaxLines && !lines_.contains({seen.peer, path.id})) draw(seen, path, new_line(seen, path));
    });
    history_.add(newest_);
}

void PageData::draw(const Observation& seen, const PathStats& path, Line& line) {
    LineSample sample;
    sample.line = line.id;
    const auto rate = seen.paths.find(path.id);
    sample.rate_bps = rate == seen.paths.end() ? 0.0 : rate->second.bps();
    sample.rtt_ms = path.smoothed_rtt > Duration::zero() ? in_milliseconds(path.smoothed_rtt) : std::nan("");
    // Only the sender of the data knows these: what a receiver sends are acknowledgements.
    sample.loss = sample.congestion = sample.in_flight = std::nan("");
    if (seen.sends) {
        const auto sent = static_cast<double>(grown(line.sent_packets, path.sent_packets));
        const auto lost = static_cast<double>(grown(line.lost_packets, path.lost_packets));
        sample.loss = std::min(lost / std::max(sent, 1.0), 1.0);
        sample.congestion = path.congestion.congestion_degree;
        sample.in_flight = static_cast<double>(path.in_flight);
    }
    line.sent_packets = path.sent_packets;
    line.lost_packets = path.lost_packets;
    newest_.lines.push_back(sample);
}

PageData::Line& PageData::new_line(const Observation& seen, const PathStats& path) {
    Line& line = lines_[{seen.peer, path.id}];
    line.id = next_line_++;
    labels_.push_back({line.id, label_of(seen, path)});
    if (labels_.size() > kMaxLabels) labels_.pop_front();
    return line;
}

std::string PageData::label_of(const Observation& seen, const PathStats& path) const {
    const std::string number = "path " + std::to_string(path.id.value);
    if (sends()) return number + ", " + host_text(path.local) + " to " + to_string(path.remote);
    return to_string(path.remote) + (seen.stats->paths.size() > 1 ? ", " + number : "");
}

void PageData::ended(const std::string& peer, const std::string& whose, const FinalReport& report) {
    ++ended_count_;
    JsonWriter json;
    json.begin_object();
    json.key("peer").string(peer);
    json.key("whose").string(whose);
    json.key("code").number(static_cast<int>(report.code));
    json.key("reason").string(to_string(report.code));
    json.key("error").string(report.error);
    json.key("at").number(to_seconds(at_));
    json.key("seconds").number(to_seconds(report.elapsed));
    json.key("files").number(report.outcome.files);
    json.key("bytes").number(report.outcome.bytes);
    json.key("rate").number(goodput(report).bps());
    json.key("limits").string(limit_line(report.limits));
    json.end_object();
    ended_.push_front(json.text());
    if (ended_.size() > kMaxEnded) ended_.pop_back();
}

void PageData::over(const FinalReport& report) {
    const transfer::Outcome& outcome = report.outcome;
    JsonWriter json;
    json.begin_object();
    json.key("code").number(static_cast<int>(report.code));
    json.key("reason").string(to_string(report.code));
    json.key("error").string(report.error);
    json.key("summary").string(summary_line(report));
    json.key("transport").string(transport_line(report));
    json.key("seconds").number(to_seconds(report.elapsed));
    json.key("files").number(outcome.files);
    json.key("bytes").number(outcome.bytes);
    json.key("rate").number(goodput(report).bps());
    json.key("failed_count").number(outcome.failed_count);
    json.key("failed").begin_array();
    for (std::size_t i = 0; i < std::min(outcome.failed.size(), kMaxFailures); ++i) {
        json.begin_object().key("path").string(outcome.failed[i].path);
        json.key("reason").string(outcome.failed[i].reason).end_object();
    }
    json.end_array().end_object();
    over_ = json.text();
}

}  // namespace udtx::apps
