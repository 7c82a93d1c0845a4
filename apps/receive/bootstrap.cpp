#include "receive/bootstrap.hpp"

#include <string>
#include <utility>
#include <vector>

#include "common/locations.hpp"
#include "options/commands.hpp"
#include "ssh/bootstrap.hpp"
#include "ssh/one_transfer.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

struct Assignment {
    RecvCommand command;
    LandingPlace landing;
    bool fresh = false;
    bool dry_run = false;
    TransferCard card{.program = "udtx-recv", .role = "receiver"};
};

Result<Assignment> understand(const BootstrapRequest& request) {
    const auto shape = parse_source_shape(request.fields.get("shape"));
    const auto transfer = request.fields.number("transfer");
    if (!shape && !request.fields.all("source").empty()) {
        return Error{ErrorCode::protocol, "udtx-recv answered, but a fetch needs udtx-send: correct --remote-bin"};
    }
    if (!shape || !transfer) return Error{ErrorCode::protocol, "the request over ssh does not say what arrives"};
    Assignment assignment;
    // Applies the flags that the sender's user set for this side, as if they had been typed here.
    std::vector<std::string> arguments = request.fields.all("argument");
    arguments.insert(arguments.end(), {"--config", "none", "--listen", ":0", "--one-off", "--dir", "."});
    const auto parsed = parse_recv_command(arguments, assignment.command);
    if (!parsed) return parsed.error();
    const std::string destination = expand_home(request.fields.get("destination"));
    // Test before the destination is created.
    assignment.fresh = is_fresh(destination, request.fields.all("name"), *transfer);
    assignment.dry_run = !request.fields.get("dry-run").empty();
    auto landing = find_landing(destination, *shape, *transfer, assignment.dry_run);
    if (!landing) return landing.error();
    assignment.landing = std::move(*landing);
    for (const std::string& name : request.fields.all("name")) {
        assignment.card.sources.push_back(host_of_ssh_client() + ':' + name);
    }
    if (assignment.card.sources.empty()) assignment.card.sources.push_back(host_of_ssh_client());
    assignment.card.destination = seen_from_elsewhere(destination.empty() ? "." : destination);
    return assignment;
}

TransportConfig config_of(const CommonOptions& options) {
    TransportConfig config = options.transport();
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
    return config;
}

}  // namespace

ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments) {
    SignalWaiter signals;
    BootstrapChannel channel(signals);
    auto socket = channel.open(arguments);
    if (!socket) return channel.refuse(socket.error());
    transfer::prepare();
    const auto request = channel.await();
    if (!request) return channel.refuse(request.error());
    const auto assignment = understand(*request);
    if (!assignment) return channel.refuse(assignment.error());
    const CommonOptions& options = assignment->command.common;
    const transfer::LandingOptions what{
        .directory = assignment->landing.directory,
        .rename = assignment->landing.rename,
        .resume = !options.no_resume,
        .dry_run = assignment->dry_run,
        .allow_erase = true,   // an ssh user could delete over ssh too ...
        .allow_set_id = true,  // ... and could set any mode
    };
    BootstrapFields answer;
    if (assignment->fresh) answer.add("fresh", "1");
    return serve_requested(
        {.request = *request,
         .socket = std::move(*socket),
         .options = options,
         .config = config_of(options),
         .end = DataEnd::receiver,
         .await = [&](transfer::AwaitRequest await, bool) { return transfer::await_sender(std::move(await), what); },
         .answer = std::move(answer),
         .card = assignment->card},
        channel, signals);
}

}  // namespace udtx::apps
