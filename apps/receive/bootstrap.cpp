#include "receive/bootstrap.hpp"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/landing.hpp"
#include "common/transport.hpp"
#include "dial/attempt_waiter.hpp"
#include "options/recv_command.hpp"
#include "ssh/bootstrap_channel.hpp"
#include "ssh/one_transfer.hpp"
#include "transfer/job/receive_job.hpp"

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
    if (!shape || !transfer) return Error{ErrorCode::protocol, "the request over ssh says not what is to come"};
    Assignment assignment;
    // What the user set there for this side, as if it had been typed here.
    std::vector<std::string> arguments = request.fields.all("argument");
    arguments.insert(arguments.end(), {"--config", "none", "--listen", ":0", "--one-off", "--dir", "."});
    const auto parsed = parse_recv_command(arguments, assignment.command);
    if (!parsed) return parsed.error();
    const std::string destination = expand_home(request.fields.get("destination"));
    // Before the place is made.
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

Result<std::unique_ptr<Transport>> open_transport(const Credentials& credentials, const CommonOptions& options,
                                                  std::unique_ptr<io::DatagramSocket> socket) {
    TransportConfig config = options.transport();
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
    auto transport = Transport::make(credentials, config, options.driver());
    if (!transport) return transport;
    if (const auto opened = (*transport)->driver().open(std::move(socket)); !opened) return opened.error();
    return transport;
}

}  // namespace

ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments) {
    SignalWaiter signals;
    BootstrapChannel channel(signals);
    auto socket = channel.open(arguments);
    if (!socket) return channel.refuse(socket.error());
    Transport::prepare();
    const auto request = channel.await();
    if (!request) return channel.refuse(request.error());
    const auto assignment = understand(*request);
    if (!assignment) return channel.refuse(assignment.error());
    const CommonOptions& options = assignment->command.common;
    auto transport = open_transport(request->credentials, options, std::move(*socket));
    if (!transport) return channel.refuse(transport.error());

    transfer::ReceiveJobOptions what;
    what.directory = assignment->landing.directory;
    what.rename = assignment->landing.rename;
    what.dry_run = assignment->dry_run;
    what.resume = !options.no_resume;
    what.allow_erase = true;   // whoever came over ssh could delete by ssh ...
    what.allow_set_id = true;  // ... and set any mode
    std::atomic<bool> done{false};
    auto job = transfer::ReceiveJob::create(std::move(what), [&done, &signals] {
        done = true;
        signals.wake();
    });
    if (!job) return channel.refuse(job.error());
    const auto transfer =
        std::make_shared<OneTransfer>((*transport)->driver(), **job, DataEnd::receiver, done, signals);
    transfer->listen();
    BootstrapFields answer;
    if (assignment->fresh) answer.add("fresh", "1");
    channel.answer(answer);
    (*transport)->start();
    const bool wound_up = transfer->serve(channel, options.timeout.value_or(kDefaultPatience), assignment->card);
    const ExitCode code = transfer->code();
    if (wound_up) (*transport)->stop(kDrainAtMost);
    if (!wound_up || code == ExitCode::interrupted) _exit(static_cast<int>(code));
    return code;
}

}  // namespace udtx::apps
