#include "udtx-recv/server_watch.hpp"

#include <algorithm>
#include <utility>

#include "common/control_commands.hpp"
#include "common/process.hpp"
#include "common/prometheus.hpp"

namespace udtx::apps {
namespace {

/// Several transfers as one: the sums, and of one transfer alone everything.
Observation sum_of(const ServerWatch::Sessions& sessions) {
    if (sessions.size() == 1) return sessions.front()->observed();
    Observation sum;
    sum.progress.phase = sessions.empty() ? transfer::Phase::connect : transfer::Phase::transfer;
    sum.progress.totals_final = !sessions.empty();
    for (const auto& session : sessions) {
        const Observation next = session->observed();
        sum.progress.files_done += next.progress.files_done;
        sum.progress.files_total += next.progress.files_total;
        sum.progress.bytes_done += next.progress.bytes_done;
        sum.progress.bytes_total += next.progress.bytes_total;
        sum.progress.bytes_kept += next.progress.bytes_kept;
        sum.progress.totals_final = sum.progress.totals_final && next.progress.totals_final;
        sum.rate = sum.rate + next.rate;
    }
    return sum;
}

}  // namespace

ServerWatch::ServerWatch(const RecvCommand& command)
    : command_(command), rates_(governor_settings(command.common, command.max_rate)) {}

Rate ServerWatch::first_cap(const RecvCommand& command) { return std::min(command.common.rate, command.max_rate); }

Result<void> ServerWatch::start(Log& log, std::function<Sessions()> sessions, JsonTicker::Print print) {
    sessions_ = std::move(sessions);
    auto metrics = serve_metrics(command_.common, log, [this] { return this->metrics(); });
    if (!metrics) return metrics.error();
    metrics_ = std::move(*metrics);
    control_ = open_control(log, control_handler(rates_, [this] { return progress_json(sum_of(sessions_())); }));
    if (command_.common.observing.json_stream) json_.emplace(std::move(print));
    return {};
}

void ServerWatch::stop() {
    control_.reset();
    metrics_.reset();
}

void ServerWatch::tick(Instant now, Duration since_start, const Sessions& sessions, Duration protocol) {
    const Rate total = rates_.update(now, !sessions.empty());
    const Rate share = sessions.empty() ? total : total * (1.0 / static_cast<double>(sessions.size()));
    for (const auto& session : sessions) {
        session->keep_below(std::min(command_.common.rate, share));
        session->look(now, protocol);
        session->sample_stats();  // for the next time
    }
    if (!json_) return;
    Observation seen = sum_of(sessions);
    seen.at = since_start;
    json_->tick(since_start, seen);
}

void ServerWatch::ended(const FinalReport& report) {
    ++ended_;
    if (report.code != ExitCode::ok) ++failed_;
    bytes_ += report.outcome.sent_bytes;
}

std::string ServerWatch::metrics() const {
    MetricsView view{.role = "receiver", .version = program_version()};
    for (const auto& session : sessions_()) view.transfers.push_back(session->observed());
    view.transfers_ended = ended_;
    view.transfers_failed = failed_;
    view.bytes_ended = bytes_;
    view.refused = refused_;
    return metrics_text(view);
}

}  // namespace udtx::apps
