#include "udtx-recv/bootstrap.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/bootstrap_channel.hpp"
#include "common/landing.hpp"
#include "common/one_transfer.hpp"
#include "common/supervisor.hpp"
#include "common/transport.hpp"
#include "transfer/receive_job.hpp"
#include "udtx-recv/options.hpp"

namespace udtx::apps {
namespace {

constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);

struct Assignment {
    RecvCommand command;
    Landing landing;
};

Result<Assignment> understand(const BootstrapRequest& request) {
    const auto shape = parse_source_shape(request.fields.get("shape"));
    const auto transfer = request.fields.number("transfer");
    if (!shape || !transfer) return Error{ErrorCode::protocol, "the request over ssh says not what is to come"};
    Assignment assignment;
    // What the user set there for this side, as if it had been typed here.
    std::vector<std::string> arguments = request.fields.all("argument");
    arguments.insert(arguments.end(), {"--config", "none", "--listen", ":0", "--one-off", "--dir", "."});
    const auto parsed = parse_recv_command(std::move(arguments), assignment.command);
    if (!parsed) return parsed.error();
    auto landing = find_landing(expand_home(request.fields.get("destination")), *shape, *transfer);
    if (!landing) return landing.error();
    assignment.landing = std::move(*landing);
    return assignment;
}

Result<std::unique_ptr<Transport>> open_transport(const BootstrapRequest& request, const CommonOptions& options) {
    TransportConfig config = options.transport();
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
    auto transport = Transport::make(request.credentials, config, options.driver());
    if (!transport) return transport;
    if (const auto opened = open_port((*transport)->driver(), request.ports, options.addresses); !opened) {
        return opened.error();
    }
    return transport;
}

/// For a doctor there.
std::int64_t wall_clock_ns() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ExitCode receive_by_bootstrap() {
    SignalWatch signals;
    BootstrapChannel channel(signals);
    const auto request = channel.open();
    if (!request) return channel.refuse(request.error());
    const auto assignment = understand(*request);
    if (!assignment) return channel.refuse(assignment.error());
    const CommonOptions& options = assignment->command.common;
    auto transport = open_transport(*request, options);
    if (!transport) return channel.refuse(transport.error());
    io::Driver& driver = (*transport)->driver();
    const auto local = driver.local_address();
    if (!local) return channel.refuse(local.error());

    transfer::ReceiveOptions what;
    what.directory = assignment->landing.directory;
    what.rename = assignment->landing.rename;
    what.resume = !options.no_resume;
    what.allow_erase = true;  // whoever came over ssh could delete by ssh
    std::atomic<bool> done{false};
    auto job = transfer::ReceiveJob::create(std::move(what), [&done, &signals] {
        done = true;
        signals.wake();
    });
    if (!job) return channel.refuse(job.error());
    const auto transfer = std::make_shared<OneTransfer>(driver, **job, done, signals);
    transfer->listen();
    (*transport)->start();
    BootstrapFields answer;
    answer.add("port", std::to_string(local->port));
    answer.add("address", address_of_ssh());
    answer.add("advice", driver.buffer_advice());
    answer.add("clock", std::to_string(wall_clock_ns()));
    channel.answer(answer);
    const bool wound_up = transfer->serve(channel, options.timeout.value_or(kDefaultPatience));
    const ExitCode code = transfer->code();
    if (wound_up) (*transport)->stop(kDrainAtMost);
    if (!wound_up || code == ExitCode::interrupted) _exit(static_cast<int>(code));
    return code;
}

}  // namespace udtx::apps
