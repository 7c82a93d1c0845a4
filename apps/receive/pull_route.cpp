#include "receive/pull_route.hpp"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "common/landing.hpp"
#include "dial/dial_url.hpp"
#include "dial/reconnect.hpp"
#include "observe/plan_listing.hpp"
#include "udtx/transfer/resume.hpp"

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

}  // namespace udtx::apps
