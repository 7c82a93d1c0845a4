#include "serve/transfers.hpp"

#include <algorithm>

#include "common/process.hpp"
#include "observe/prometheus.hpp"
#include "udtx/address.hpp"

namespace udtx::apps {

WatchedTransfer::WatchedTransfer(transfer::ServedTransfer transfer, const Access& access, Rate told)
    : transfer_(std::move(transfer)),
      peer_(to_string(transfer_.client().address)),
      who_(peer_ + access.name_of(transfer_.client())),
      directory_(access.place_of(transfer_.client())),
      most_(access.rate_of(transfer_.client())),
      cap_(std::min(told, most_)),
      observer_(DataEnd::receiver, false, peer_) {}

void WatchedTransfer::look(Duration protocol) {
    if (transfer_.sends()) observer_.become(DataEnd::sender);
    observer_.look({.at = transfer_.elapsed(),
                    .progress = transfer_.progress(),
                    .stats = transfer_.stats(),
                    .protocol = protocol,
                    .process = process_time(),
                    .writing = transfer_.writing_time(),
                    .cap = cap_});
}

void WatchedTransfer::keep_below(Rate rate) {
    cap_ = std::min(rate, most_);
    transfer_.set_max_rate(cap_);
}

TransferTable::Transfers TransferTable::under_way() {
    const auto known = known_.lock();
    Transfers here;
    Known still;
    // Asks under the lock. An older answer may lack a new transfer, which would then be forgotten.
    for (const transfer::ServedTransfer& transfer : ask_()) {
        const auto& watched = still.emplace(transfer.client().number, find(*known, transfer)).first->second;
        if (!watched->told()) here.push_back(watched);
    }
    *known = std::move(still);
    return here;
}

std::shared_ptr<WatchedTransfer> TransferTable::find(Known& known, const transfer::ServedTransfer& transfer) {
    auto& watched = known[transfer.client().number];
    if (!watched) {
        watched = std::make_shared<WatchedTransfer>(transfer, access_, told_);
        log_.detail("serving " + watched->who());
    }
    return watched;
}

namespace {

std::vector<Observation> observed(const ServerObservers::Transfers& transfers) {
    std::vector<Observation> all;
    all.reserve(transfers.size());
    for (const auto& transfer : transfers) all.push_back(transfer->observed());
    return all;
}

}  // namespace

ServerObservers::ServerObservers(const RecvCommand& command, Log& log, const std::atomic<std::uint64_t>& refused)
    : command_(command), log_(log), rates_(command.common, command.max_rate, log), refused_(refused) {}

Rate ServerObservers::first_cap(const RecvCommand& command) {
    return std::min({command.common.rate, command.max_rate, command.common.host_rate});
}

Result<void> ServerObservers::open_report() {
    const std::string place = command_.streaming ? "standard output" : command_.directory;
    const std::string where = (command_.one_off || command_.streaming ? "into " : "serving ") + place;
    auto page = LivePage::open(command_.common, page_subject(DataEnd::receiver, where, command_.one_off), log_);
    if (!page) return page.error();
    page_ = std::move(*page);
    return {};
}

Result<void> ServerObservers::start(std::uint16_t port, std::function<Transfers()> under_way, JsonTicker::Print print) {
    under_way_ = std::move(under_way);
    if (page_) {
        if (const auto served = page_->serve(); !served) return served;
    }
    auto metrics = serve_metrics(command_.common, log_, [this] { return this->metrics(); });
    if (!metrics) return metrics.error();
    metrics_ = std::move(*metrics);
    control_ = open_control(&rates_, &log_, [this, port] { return describe(port); });
    if (command_.common.json_stream) json_.emplace(std::move(print));
    return {};
}

Described ServerObservers::describe(std::uint16_t port) const {
    const Transfers transfers = under_way_();
    Described process{
        .card = {.program = "udtx-recv", .role = command_.one_off ? "receiver" : "server", .port = port, .user = user_},
        .seen = sum_of(observed(transfers))};
    if (!command_.streaming) process.card.destination = seen_from_elsewhere(command_.directory);
    // With a single transfer, the source is its peer.
    if (command_.one_off && !transfers.empty()) process.card.sources = {transfers.front()->who()};
    for (const auto& transfer : transfers) {
        process.served.push_back({transfer->who(), transfer->directory(), transfer->observed()});
    }
    return process;
}

void ServerObservers::tick(Instant now, Duration since_start, const Transfers& transfers, Duration protocol) {
    const Rate total = rates_.update(now, !transfers.empty());
    // A transfer that stands still leaves its share to the others until it continues.
    const auto moving =
        std::ranges::count_if(transfers, [](const auto& transfer) { return !transfer->stands_still(); });
    const Rate share = moving == 0 ? total : total * (1.0 / static_cast<double>(moving));
    for (const auto& transfer : transfers) {
        transfer->keep_below(std::min(command_.common.rate, share));
        transfer->look(protocol);
    }
    if (page_ && page_->due(since_start)) page_->tick(since_start, observed(transfers));
    if (!json_) return;
    Observation seen = sum_of(observed(transfers));
    seen.at = since_start;
    json_->tick(since_start, seen);
}

void ServerObservers::ended(const WatchedTransfer& transfer, const FinalReport& report) {
    ++ended_;
    if (report.code != ExitCode::ok) ++failed_;
    bytes_ += report.outcome.sent_bytes;
    if (!page_) return;
    if (!command_.one_off) return page_->ended(transfer.peer(), transfer.direction(), report);
    last_ = transfer.observed();
    last_->progress = report.progress;
}

void ServerObservers::finish(Duration since_start, const Transfers& transfers, FinalReport& report) {
    if (!page_) return;
    // The page keeps showing the single transfer of the run.
    page_->finish(since_start, last_ ? std::vector{*last_} : observed(transfers), report);
}

std::string ServerObservers::metrics() const {
    MetricsView view{.role = command_.one_off ? "receiver" : "server", .version = program_version()};
    view.transfers = observed(under_way_());
    view.transfers_ended = ended_;
    view.transfers_failed = failed_;
    view.bytes_ended = bytes_;
    view.refused = refused_;
    return metrics_text(view);
}

}  // namespace udtx::apps
