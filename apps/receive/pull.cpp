#include "receive/pull.hpp"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "common/locations.hpp"
#include "common/process.hpp"
#include "dial/attempt.hpp"
#include "dial/explain.hpp"
#include "dial/reconnect.hpp"
#include "observe/final_report.hpp"
#include "observe/plan_listing.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

/// Identifies the destination. It is the same for each run of a command, so the sender recognises the transfer.
std::string identity_of(const RecvCommand& command) {
    std::error_code ignored;
    return std::filesystem::absolute(command.destination, ignored).lexically_normal().string();
}

std::vector<std::string> sources_of(const RecvCommand& command) {
    if (command.server) return command.server_paths;
    std::vector<std::string> sources;
    for (const SshTarget& target : command.sources) sources.push_back(target.path);
    return sources;
}

transfer::Selection selection_of(const RecvCommand& command) {
    transfer::Selection what = command.selection();
    const ShardOptions& shards = command.tree.shards;
    if (shards.shard) what.shard = shards.of_job(sources_of(command), identity_of(command));
    return what;
}

Result<void> add_selection(const RecvCommand& command, BootstrapFields& request) {
    auto blocks = transfer::pack(selection_of(command));
    if (!blocks) return blocks.error();
    // One field per block, because lines have a maximum length.
    for (std::string& block : *blocks) request.add("selection", std::move(block));
    return {};
}

std::uint64_t number_of(const RecvCommand& command) {
    if (!resumable(command)) return 0;
    const ShardOptions& shards = command.tree.shards;
    if (shards.shard) return shards.number(sources_of(command), identity_of(command));
    std::vector<std::string> sources;
    if (command.server) {
        for (const std::string& path : command.server_paths) sources.push_back('/' + path);
        return transfer::transfer_number(authority(*command.server), "/", sources, identity_of(command));
    }
    // Paths as typed, because this side does not know the remote home directory.
    for (const SshTarget& target : command.sources) sources.push_back(target.path);
    return transfer::transfer_number(command.sources.front().login(), "~", sources, identity_of(command));
}

/// True if the destination has none of the files that will come. If the sources are patterns, their names are unknown.
bool expects_nothing_here(const RecvCommand& command) {
    std::vector<std::string> sources;
    bool patterns = command.tree.names.has_value();
    for (const SshTarget& target : command.sources) {
        patterns = patterns || target.path.find_first_of("*?[~") != std::string::npos;
        sources.push_back(target.path);
    }
    return !command.to_stdout &&
           is_fresh(command.destination, patterns ? std::vector<std::string>() : names_of(sources), number_of(command));
}

Result<PullRoute> route_by_ssh(const RecvRun& run) {
    const RecvCommand& command = run.command;
    RemoteStart start{"udtx-send", command.sources.front(), command.ssh, command.common.addresses, {}};
    for (const SshTarget& target : command.sources) start.request.add("source", target.path);
    start.request.add("transfer", std::to_string(number_of(command)));
    if (expects_nothing_here(command)) start.request.add("fresh", "1");
    if (command.to_stdout) start.request.add("stream", "1");
    for (std::string& argument : command.for_sender()) start.request.add("argument", std::move(argument));
    if (const auto added = add_selection(command, start.request); !added) return added.error();
    auto remote = RemoteEnd::start(std::move(start), run.log, run.terminal, run.signals);
    if (!remote) return remote.error();
    const std::string& host = command.sources.front().host;
    if (const std::string advice = (*remote)->reply().get("advice"); !advice.empty())
        run.log.detail(host + ": " + advice);
    return PullRoute{(*remote)->credentials(), (*remote)->addresses(), host, std::move(*remote)};
}

Result<PullRoute> route_by_url(const RecvCommand& command) {
    auto credentials = dialling_credentials(command.common, command.pin);
    if (!credentials) return credentials.error();
    auto addresses = addresses_of(*command.server, command.common.addresses);
    if (!addresses) return addresses.error();
    return PullRoute{std::move(*credentials), std::move(*addresses), authority(*command.server), nullptr};
}

}  // namespace

bool resumable(const RecvCommand& command) { return !command.common.no_resume && !command.to_stdout; }

Result<PullRoute> find_route(const RecvRun& run, const std::shared_ptr<RemoteEnd>& known) {
    if (known) {
        return PullRoute{known->credentials(), known->addresses(), run.command.sources.front().host, known};
    }
    return run.command.server ? route_by_url(run.command) : route_by_ssh(run);
}

transfer::ReceiveOptions receive_options(const RecvRun& run, const PullRoute& route) {
    const RecvCommand& command = run.command;
    transfer::ReceiveOptions options;
    options.what = selection_of(command);
    if (!command.server) options.what.sources = sources_of(command);
    options.destination = command.destination;
    if (command.to_stdout) options.stream_fd = STDOUT_FILENO;
    options.resume = !command.common.no_resume;
    options.transfer = number_of(command);
    options.sender_started = route.remote != nullptr;
    options.planned = plan_listing(run.log, listing_of(command.tree, command.common, true));
    return options;
}

DialContext context_of(const RecvCommand& command, const PullRoute& route, bool connected) {
    TransportConfig config = command.common.transport();
    dial_within(config, route.left);
    if (route.remote) {
        DialContext context = context_over_ssh(*route.remote, route.peer, connected, config);
        context.known = route.known;
        return context;
    }
    DialContext context;
    context.url = *command.server;
    context.targets = command.paths.targets(*command.server);
    context.connected = connected;
    context.identity = !command.pin.empty();
    context.patience = config.handshake_timeout;
    return context;
}

Result<JobRecord> open_job_record(const RecvCommand& command) {
    const ShardOptions& shards = command.tree.shards;
    const std::string place = identity_of(command);
    std::string name = shards.job;
    for (const std::string& source : sources_of(command)) name += '\n' + source;
    return JobRecord::open({std::move(name), {}, place}, shards.of_job(sources_of(command), place),
                           !command.common.receipt_text.empty());
}

namespace {

/// State of a run over all its connections.
struct Fetching {
    const RecvRun& run;
    std::unique_ptr<TransferObservers>& observers;
    LeaveReceiver leave;
    JobRecord* job;  ///< of a shard
};

/// Missing sources, as the sender reported over ssh. Empty if it sent no answer.
std::vector<transfer::FailedFile> missing_over_ssh(const PullRoute& route) {
    std::vector<transfer::FailedFile> files;
    if (!route.remote) return files;
    const auto answer = route.remote->await_answer();
    if (!answer || !answer->has_value()) return files;
    const std::vector<std::string> missing = (*answer)->all("missing");
    const std::vector<std::string> reasons = (*answer)->all("reason");
    for (std::size_t i = 0; i < missing.size() && i < reasons.size(); ++i) {
        files.push_back({missing[i], ErrorCode::file_io, "sender: " + reasons[i]});
    }
    return files;
}

FinalReport make_report(const Fetching& fetching, const PullRoute& route, const AttemptWaiter& waiter,
                        const transfer::Transfer& transfer) {
    const RecvCommand& command = fetching.run.command;
    AttemptFacts facts{command.common, DataEnd::receiver};
    facts.streaming = command.to_stdout;
    facts.dry_run = command.tree.dry_run;
    facts.job = fetching.job;
    facts.congestion = command.common.congestion;
    if (transfer.done() && !transfer.cancelled()) facts.missing = missing_over_ssh(route);
    facts.context = [&] { return context_of(command, route, transfer.connected_for().has_value()); };
    const bool spared = command.tree.erase && (!facts.missing.empty() || transfer.outcome().missing > 0);
    FinalReport report = attempt_report(std::move(facts), *fetching.observers, waiter, transfer);
    if (spared) {
        report.outcome.warnings.emplace_back("--delete: nothing is deleted, because not all sources can be read");
    }
    return report;
}

TransferCard card_of(const RecvCommand& command) {
    TransferCard card{.program = "udtx-recv", .role = "receiver"};
    if (command.server) {
        card.port = command.server->port;
        Url source = *command.server;
        for (const std::string& path : command.server_paths) {
            source.path = path;
            card.sources.push_back(to_text(source));
        }
    }
    for (const SshTarget& source : command.sources) card.sources.push_back(source.login() + ':' + source.path);
    if (!command.to_stdout) card.destination = seen_from_elsewhere(command.destination);
    return card;
}

Result<std::unique_ptr<TransferObservers>> observe_pull(const RecvRun& run, Duration patience) {
    const RecvCommand& command = run.command;
    TransferObservers::Subject subject{DataEnd::receiver,
                                       command.server ? authority(*command.server) : command.sources.front().host,
                                       command.to_stdout};
    if (resumable(command)) subject.tries_again_for = patience;
    subject.card = card_of(command);
    auto observers =
        TransferObservers::start(command.common, run.log, std::move(subject), [&run](const std::string& line) {
            if (run.command.to_stdout) return run.terminal.line(line);
            (void)write_all(STDOUT_FILENO, line + "\n");
        });
    if (observers) (*observers)->show_on(run.terminal);
    return observers;
}

TransportConfig config_of(const RecvCommand& command, const PullRoute& route) {
    TransportConfig config = command.common.transport();
    // The cap applies to received data. Over ssh the sender was started with it; a server gets it in the handshake.
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
    if (resumable(command)) command.common.leave_time_to_reconnect(config);
    dial_within(config, route.left);
    return config;
}

Result<transfer::ReceiveRequest> request_to(const Fetching& fetching, const PullRoute& route) {
    const RecvCommand& command = fetching.run.command;
    transfer::ReceiveRequest request{.credentials = route.credentials, .options = receive_options(fetching.run, route)};
    if (fetching.job != nullptr) fetching.job->describe(*request.options.what.shard);
    request.dial = command.common.dial(config_of(command, route), route.addresses);
    if (route.remote) request.dial.also = route.remote->own_addresses();
    request.events.log = fetching.run.log.sink();
    // Over ssh the addresses come from ssh. Paths from configuration files apply only to servers.
    if (command.server) {
        const auto applied = command.paths.apply(request.dial, route.left.has_value());
        if (!applied) return applied.error();
    }
    auto receipt = open_receipt(command.common);
    if (!receipt) return receipt.error();
    request.options.receipt = std::move(*receipt);
    return request;
}

/// One attempt: at most one connection.
Attempt fetch_over(const Fetching& fetching, const PullRoute& route) {
    const RecvRun& run = fetching.run;
    const CommonOptions& options = run.command.common;
    TransferObservers& observers = *fetching.observers;
    auto request = request_to(fetching, route);
    if (!request) return not_begun(options, observers, request.error());
    const auto receipt = request->options.receipt;
    auto transfer = transfer::start_receive(std::move(*request));
    if (!transfer) return not_begun(options, observers, transfer.error());
    if (const std::string advice = transfer->buffer_advice(); !advice.empty()) run.log.info(advice);

    return run_attempt(
        {.options = options,
         .log = run.log,
         .signals = run.signals,
         .end = DataEnd::receiver,
         .observers = fetching.observers,
         .remote = route.remote.get(),
         .known = route.known,
         .receipt = receipt,
         .resumable = resumable(run.command),
         .report = [&](const AttemptWaiter& waiter) { return make_report(fetching, route, waiter, *transfer); },
         .leave = [&](const FinalReport& report) { fetching.leave(run, report); }},
        *transfer);
}

Attempt attempt(const Fetching& fetching, KnownRemote& known, std::optional<Duration> left) {
    const auto find = [&](const std::shared_ptr<RemoteEnd>& remote) {
        const bool slow = left.has_value() && !remote;
        return make_while_observed(*fetching.observers, slow, [&] { return find_route(fetching.run, remote); });
    };
    return known.attempt(
        left, find, [&](const PullRoute& route) { return fetch_over(fetching, route); },
        [&](const Error& error) { return not_begun(fetching.run.command.common, *fetching.observers, error); });
}

}  // namespace

FinalReport run_pull(const RecvRun& run, LeaveReceiver leave) {
    const CommonOptions& options = run.command.common;
    std::optional<JobRecord> job;
    if (run.command.tree.shards.shard && !run.command.tree.dry_run) {
        auto opened = open_job_record(run.command);
        if (!opened) return never_began(options, opened.error());
        job = std::move(*opened);
    }
    const Duration patience = options.timeout.value_or(transfer::kPatience);
    auto observers = observe_pull(run, patience);
    if (!observers) return never_began(options, observers.error());
    const Fetching fetching{run, *observers, leave, job ? &*job : nullptr};
    KnownRemote known;
    FinalReport report = keep_trying({patience, resumable(run.command), run.log, run.signals, **observers},
                                     [&](std::optional<Duration> left) { return attempt(fetching, known, left); });
    (*observers)->finish(report);
    return report;
}

}  // namespace udtx::apps
