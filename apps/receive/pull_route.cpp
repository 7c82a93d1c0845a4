#include "receive/pull_route.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/landing.hpp"
#include "dial/dial_url.hpp"
#include "dial/reconnect.hpp"
#include "observe/plan_listing.hpp"
#include "transfer/job/pull_request.hpp"
#include "udtx/transfer/resume.hpp"

namespace udtx::apps {
namespace {

/// The same for each run of the same command: what the sender there takes for where things go.
std::string identity_of(const RecvCommand& command) {
    std::error_code ignored;
    return std::filesystem::absolute(command.destination, ignored).lexically_normal().string();
}

Result<void> add_selection(const RecvCommand& command, BootstrapFields& request) {
    const auto messages = transfer::messages_of(command.wish());
    if (!messages) return messages.error();
    // One field each: a line may be long, but not without end.
    for (const transfer::Message& message : *messages) {
        const std::vector<std::byte> bytes = transfer::bytes_of({message});
        request.add("selection", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    return {};
}

std::uint64_t number_of(const RecvCommand& command) {
    if (!resumable(command)) return 0;
    std::vector<std::string> sources;
    if (command.server) {
        for (const std::string& path : command.server_paths) sources.push_back('/' + path);
        return transfer::transfer_number(authority(*command.server), "/", sources, identity_of(command));
    }
    // As typed: where the home directory there lies is not known here.
    for (const SshTarget& target : command.sources) sources.push_back(target.path);
    return transfer::transfer_number(command.sources.front().login(), "~", sources, identity_of(command));
}

/// Nothing of what comes stands here. What patterns stand for is not known.
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
    PullRoute route{(*remote)->credentials(), {}, host, std::move(*remote)};
    for (const Address& address : route.remote->addresses()) {
        route.ways.push_back({.local = {}, .remote = address, .options = {}});
    }
    return route;
}

Result<PullRoute> route_by_url(const RecvCommand& command, bool again) {
    auto credentials = dialling_credentials(command.common, command.pin);
    if (!credentials) return credentials.error();
    const auto addresses = addresses_of(*command.server, command.common.addresses);
    if (!addresses) return addresses.error();
    auto ways = command.paths.plan(*addresses, command.common.addresses, again);
    if (!ways) return ways.error();
    return PullRoute{std::move(*credentials), std::move(*ways), authority(*command.server), nullptr};
}

Result<transfer::LandingPlace> place_for(const RecvCommand& command, SourceShape shape, std::uint64_t transfer) {
    if (command.to_stdout) return transfer::LandingPlace{};
    return find_landing(command.destination, shape, transfer, command.tree.dry_run);
}

Result<transfer::PullOrder> order_of(const RecvCommand& command, std::shared_ptr<MissingSources> missing) {
    const std::uint64_t transfer = number_of(command);
    transfer::PullWish wish = command.wish();
    wish.what.transfer = transfer;
    Result<std::vector<transfer::Message>> request = std::vector<transfer::Message>();
    auto how = transfer::AskedFor::Sources::names;
    if (command.server) {
        request = transfer::messages_of(wish);
    } else {
        // The sender has been asked when it was started.
        how = transfer::AskedFor::Sources::patterns;
        wish.what.sources.clear();
        for (const SshTarget& target : command.sources) wish.what.sources.push_back(target.path);
    }
    if (!request) return request.error();
    return transfer::PullOrder{std::move(*request), transfer::AskedFor(std::move(wish), how),
                               [&command, transfer, missing = std::move(missing)](const transfer::message::Sources& m) {
                                   for (const auto& file : m.missing) missing->add(file.path, file.reason);
                                   return place_for(command, m.shape, transfer);
                               }};
}

}  // namespace

void MissingSources::add(std::string path, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    // Over ssh it is said there as well.
    if (std::ranges::any_of(files_, [&](const transfer::FailedFile& file) { return file.path == path; })) return;
    files_.push_back({std::move(path), ErrorCode::file_io, "sender: " + reason});
}

std::vector<transfer::FailedFile> MissingSources::all() const {
    const std::lock_guard lock(mutex_);
    return files_;
}

bool resumable(const RecvCommand& command) { return !command.common.no_resume && !command.to_stdout; }

Result<PullRoute> find_route(const RecvRun& run, bool again) {
    return run.command.server ? route_by_url(run.command, again) : route_by_ssh(run);
}

Result<transfer::ReceiveJobOptions> where_to(const RecvRun& run, const PullRoute& route) {
    const RecvCommand& command = run.command;
    transfer::ReceiveJobOptions options;
    options.role = Role::client;
    options.resume = !command.common.no_resume;
    options.overwrite = command.tree.overwrite;
    options.to_stream = command.to_stdout;
    options.allow_erase = command.tree.erase;
    options.allow_set_id = command.tree.set_id;
    options.dry_run = command.tree.dry_run;
    options.planned = plan_listing(run.log, listing_of(command.tree, command.common, true));
    // The user is here, and ssh has its own way to end the other side.
    options.confirms_last = route.remote != nullptr;
    auto order = order_of(command, route.missing);
    if (!order) return order.error();
    options.pull = std::move(*order);
    return options;
}

DialContext context_of(const RecvCommand& command, const PullRoute& route, const DialHandler& dial) {
    TransportConfig config = command.common.transport();
    dial_within(config, route.left);
    if (route.remote) return context_over_ssh(*route.remote, route.peer, dial.connected(), config);
    DialContext context;
    context.url = *command.server;
    context.targets = command.paths.targets(*command.server);
    context.connected = dial.connected();
    context.identity = !command.pin.empty();
    context.patience = config.handshake_timeout;
    return context;
}

}  // namespace udtx::apps
