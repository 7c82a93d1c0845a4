#include "send/sender.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "common/locations.hpp"
#include "common/process.hpp"
#include "common/units.hpp"
#include "dial/attempt.hpp"
#include "dial/explain.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "observe/plan_listing.hpp"
#include "udtx/monotonic_clock.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

/// The kind of an entry that is not a file, directory or link; null for those.
const char* special_kind(mode_t mode) noexcept {
    if (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)) return nullptr;
    if (S_ISFIFO(mode)) return "FIFO";
    if (S_ISSOCK(mode)) return "socket";
    return "device";
}

std::optional<std::string> problem_with(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return std::generic_category().message(errno);
    if (const char* kind = special_kind(info.st_mode); kind != nullptr) {
        return std::string("it is a ") + kind + "; to send its data, make it the standard input of udtx-send -";
    }
    // A link is sent as a link, so its target may be missing.
    if (S_ISLNK(info.st_mode)) return std::nullopt;
    const int wanted = S_ISDIR(info.st_mode) ? R_OK | X_OK : R_OK;
    if (::access(path.c_str(), wanted) != 0) return std::generic_category().message(errno);
    return std::nullopt;
}

}  // namespace

CheckedSources check_sources(const std::vector<std::string>& sources) {
    CheckedSources checked;
    for (const std::string& source : sources) {
        if (source == "-") {
            checked.usable.push_back(source);
        } else if (auto problem = problem_with(source)) {
            checked.failed.push_back({source, ErrorCode::file_io, std::move(*problem)});
        } else {
            checked.usable.push_back(source.ends_with('/') ? source + "." : source);
        }
    }
    return checked;
}

std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources, const std::string& where) {
    if (command.resumable() && command.tree.shards.shard) return command.tree.shards.number(command.sources, where);
    return command.resumable() ? transfer::transfer_number(sources, where) : 0;
}

transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                   const std::string& where) {
    transfer::SendOptions options;
    options.transfer = number_of(command, sources, where);
    options.what = command.tree.selection(command.common);
    if (command.tree.shards.shard) options.what.shard = command.tree.shards.of_job(command.sources, where);
    options.what.sources = std::move(sources);
    options.destination = where;
    options.resume = command.resumable();
    return options;
}

namespace {

Result<SendRoute> route_by_url(const SendCommand& command) {
    auto credentials = dialling_credentials(command.common, command.pin);
    if (!credentials) return credentials.error();
    auto addresses = addresses_of(command.url, command.common.addresses);
    if (!addresses) return addresses.error();
    return SendRoute{std::move(*credentials), std::move(*addresses)};
}

}  // namespace

Result<SendRoute> find_route(const SendRun& run, BootstrapFields request) {
    const SendCommand& command = run.command;
    if (!command.remote) return route_by_url(command);
    RemoteStart start{"udtx-recv", *command.remote, command.ssh, command.common.addresses, std::move(request)};
    for (std::string& argument : command.common.for_other_side()) start.request.add("argument", std::move(argument));
    auto remote = RemoteEnd::start(std::move(start), run.log, run.terminal, run.signals);
    if (!remote) return remote.error();
    if (const std::string advice = (*remote)->reply().get("advice"); !advice.empty()) {
        run.log.detail(command.remote->host + ": " + advice);
    }
    return SendRoute{(*remote)->credentials(), (*remote)->addresses(), std::move(*remote)};
}

DialContext context_of(const SendCommand& command, const SendRoute& route, bool connected) {
    TransportConfig config = command.transport();
    dial_within(config, route.left);
    if (route.remote) {
        DialContext context = context_over_ssh(*route.remote, command.remote->host, connected, config);
        context.known = route.known;
        return context;
    }
    DialContext context;
    context.url = command.url;
    context.targets = command.paths.targets(command.url);
    context.connected = connected;
    context.identity = !command.pin.empty();
    context.patience = config.handshake_timeout;
    return context;
}

namespace {

/// The destination as typed. It identifies repeated runs of the same command.
std::string where_of(const SendCommand& command) {
    const auto& remote = command.remote;
    return remote ? remote->login() + ':' + remote->path : command.url.path;
}

transfer::SendOptions what_to_send(const SendCommand& command, const std::vector<std::string>& sources) {
    transfer::SendOptions options = send_options(command, sources, where_of(command));
    if (!command.remote) return options;
    // The receiver was started for this destination. A stream still needs its file name there.
    const std::string& path = command.remote->path;
    options.destination = command.streaming() ? path.substr(path.rfind('/') + 1) : std::string();
    return options;
}

/// The request to the receiver that is started over ssh.
BootstrapFields request_for(const SendCommand& command, const std::vector<std::string>& sources) {
    BootstrapFields request;
    // The shape follows from the typed sources, although some may be missing.
    const SourceShape shape = command.sources.size() == 1 ? shape_of(sources) : SourceShape::several;
    request.add("shape", std::string(to_string(shape)));
    request.add("destination", command.remote->path);
    request.add("transfer", std::to_string(number_of(command, sources, where_of(command))));
    if (command.tree.dry_run) request.add("dry-run", "1");
    if (!command.tree.names) {
        for (std::string& name : names_of(sources)) request.add("name", std::move(name));
    }
    return request;
}

TransferCard card_of(const SendCommand& command) {
    TransferCard card{.program = "udtx-send", .role = "sender"};
    for (const std::string& source : command.sources) card.sources.push_back(seen_from_elsewhere(source));
    if (command.remote) {
        card.destination = where_of(command);
    } else {
        card.port = command.url.port;
        card.destination = to_text(command.url);
    }
    return card;
}

/// State of a run over all its connections.
struct Sending {
    const SendRun& run;
    const CheckedSources& sources;
    std::unique_ptr<TransferObservers>& observers;
    const transfer::SentFiles& sent;
    LeaveSender leave;
    JobRecord* job;  ///< of a shard
};

FinalReport make_report(const Sending& sending, const SendRoute& route, const AttemptWaiter& waiter,
                        const transfer::Transfer& transfer) {
    const SendCommand& command = sending.run.command;
    AttemptFacts facts{command.common, DataEnd::sender};
    facts.streaming = command.streaming();
    facts.dry_run = command.tree.dry_run;
    facts.congestion = command.congestion_in_use();
    facts.missing = sending.sources.failed;
    facts.job = sending.job;
    facts.context = [&] { return context_of(command, route, transfer.connected_for().has_value()); };
    return attempt_report(std::move(facts), *sending.observers, waiter, transfer);
}

transfer::SendOptions what_to_send(const Sending& sending) {
    const SendRun& run = sending.run;
    transfer::SendOptions options = what_to_send(run.command, sending.sources.usable);
    if (sending.job != nullptr) sending.job->describe(*options.what.shard);
    options.planned = plan_listing(run.log, listing_of(run.command.tree, run.command.common, false));
    options.missing = sending.sources.failed;
    if (options.what.erase && !sending.sources.failed.empty()) {
        run.log.warn("--delete: nothing is deleted, because not all sources can be read");
        options.what.erase = false;
    }
    if (run.command.resumable() && !run.command.tree.dry_run) options.sent = sending.sent;
    return options;
}

Result<transfer::SendRequest> request_to(const Sending& sending, const SendRoute& route, Rate cap) {
    const SendCommand& command = sending.run.command;
    transfer::SendRequest request{.credentials = route.credentials, .options = what_to_send(sending)};
    TransportConfig config = command.transport();
    dial_within(config, route.left);
    // The schedule or the host's share may put the cap below --min-rate. The connection would be refused with such a
    // rate.
    config.max_rate = std::max(cap, config.min_rate);
    request.dial = command.common.dial(std::move(config), route.addresses);
    if (route.remote) request.dial.also = route.remote->own_addresses();
    request.events.log = sending.run.log.sink();
    if (const auto applied = command.paths.apply(request.dial, route.left.has_value()); !applied) {
        return applied.error();
    }
    auto receipt = open_receipt(command.common);
    if (!receipt) return receipt.error();
    request.options.receipt = std::move(*receipt);
    return request;
}

/// One attempt: at most one connection.
Attempt send_over(const Sending& sending, const SendRoute& route) {
    const SendRun& run = sending.run;
    const SendCommand& command = run.command;
    TransferObservers& observers = *sending.observers;
    const Rate cap = observers.first_cap(monotonic_now());
    if (cap != command.common.rate) run.log.info(describe_rate_cap(cap));
    auto request = request_to(sending, route, cap);
    if (!request) return not_begun(command.common, observers, request.error());
    const auto receipt = request->options.receipt;
    auto transfer = transfer::start_send(std::move(*request));
    if (!transfer) return not_begun(command.common, observers, transfer.error());
    if (cap < command.common.min_rate) transfer->set_max_rate(cap);
    if (const std::string advice = transfer->buffer_advice(); !advice.empty()) run.log.detail(advice);

    return run_attempt(
        {.options = command.common,
         .log = run.log,
         .signals = run.signals,
         .end = DataEnd::sender,
         .observers = sending.observers,
         .remote = route.remote.get(),
         .known = route.known,
         .receipt = receipt,
         .resumable = command.resumable(),
         .reads_pipe = command.streaming(),
         .report = [&](const AttemptWaiter& waiter) { return make_report(sending, route, waiter, *transfer); },
         .leave = [&](const FinalReport& report) { sending.leave(run, report); }},
        *transfer);
}

Attempt attempt(const Sending& sending, KnownRemote& known, std::optional<Duration> left) {
    const SendRun& run = sending.run;
    const auto find = [&](const std::shared_ptr<RemoteEnd>& remote) -> Result<SendRoute> {
        if (remote) return SendRoute{remote->credentials(), remote->addresses(), remote};
        return make_while_observed(*sending.observers, left.has_value(), [&] {
            return find_route(
                run, run.command.remote ? request_for(run.command, sending.sources.usable) : BootstrapFields());
        });
    };
    return known.attempt(
        left, find, [&](const SendRoute& route) { return send_over(sending, route); },
        [&](const Error& error) { return not_begun(run.command.common, *sending.observers, error); });
}

Result<std::unique_ptr<TransferObservers>> observe_push(const SendRun& run, Duration patience) {
    const SendCommand& command = run.command;
    TransferObservers::Subject subject{DataEnd::sender, command.remote ? command.remote->host : authority(command.url),
                                       command.streaming()};
    if (command.resumable()) subject.tries_again_for = patience;
    subject.card = card_of(command);
    // If the JSON stream cannot be written, the last object's error reports that.
    auto observers = TransferObservers::start(command.common, run.log, std::move(subject), [](const std::string& line) {
        (void)write_all(STDOUT_FILENO, line + "\n");
    });
    if (observers) (*observers)->show_on(run.terminal);
    return observers;
}

}  // namespace

FinalReport run_sender(const SendRun& run, LeaveSender leave) {
    const SendCommand& command = run.command;
    CheckedSources sources = check_sources(command.sources);
    const bool only_one = command.sources.size() == 1;  // then the error line reports it
    for (const auto& file : sources.failed) {
        if (!only_one) run.log.warn("cannot send " + describe(file));
    }
    if (sources.usable.empty()) {
        FinalReport report = never_began(
            command.common,
            {ErrorCode::file_io, only_one ? "cannot send " + describe(sources.failed[0]) : "no source can be read"});
        report.outcome.failed_count = sources.failed.size();
        report.outcome.failed = std::move(sources.failed);
        return report;
    }
    std::optional<JobRecord> job;
    const ShardOptions& shards = command.tree.shards;
    if (shards.shard && !command.tree.dry_run) {
        auto opened =
            JobRecord::open({shards.job, command.sources, command.remote ? command.remote->path : command.url.path},
                            shards.of_job(command.sources, where_of(command)), !command.common.receipt_text.empty());
        if (!opened) return never_began(command.common, opened.error());
        job = std::move(*opened);
    }
    const Duration patience = command.common.timeout.value_or(transfer::kPatience);
    auto observers = observe_push(run, patience);
    if (!observers) return never_began(command.common, observers.error());
    const transfer::SentFiles sent;
    const Sending sending{run, sources, *observers, sent, leave, job ? &*job : nullptr};
    KnownRemote known;
    FinalReport report = keep_trying({patience, command.resumable(), run.log, run.signals, **observers},
                                     [&](std::optional<Duration> left) { return attempt(sending, known, left); });
    (*observers)->finish(report);
    return report;
}

}  // namespace udtx::apps
