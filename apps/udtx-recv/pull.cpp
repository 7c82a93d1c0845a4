#include "udtx-recv/pull.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "common/descriptors.hpp"
#include "common/dial_handler.hpp"
#include "common/explain.hpp"
#include "common/landing.hpp"
#include "common/process.hpp"
#include "common/receipt.hpp"
#include "common/reconnect.hpp"
#include "common/remote_end.hpp"
#include "common/show_report.hpp"
#include "common/supervisor.hpp"
#include "common/transport.hpp"
#include "io/path_plan.hpp"
#include "transfer/receive_job.hpp"

namespace udtx::apps {
namespace {

/// So long our own disk has to take what is complete and to lose what is not.
constexpr Duration kWindUpWithin = std::chrono::seconds(5);
constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);
constexpr const char* kFailed = "not received";

/// The same for each run of the same command: what the sender there takes for where things go.
std::string identity_of(const RecvCommand& command) {
    std::error_code ignored;
    return std::filesystem::absolute(command.destination, ignored).lexically_normal().string();
}

Result<std::unique_ptr<RemoteEnd>> start_sender(const RecvRun& run) {
    const RecvCommand& command = run.command;
    RemoteStart start{"udtx-send", command.sources.front(), command.ssh, command.common.addresses, {}};
    for (const SshTarget& target : command.sources) start.request.add("source", target.path);
    start.request.add("destination", identity_of(command));
    if (command.to_stdout) start.request.add("stream", "1");
    for (std::string& argument : command.for_sender()) start.request.add("argument", std::move(argument));
    auto remote = RemoteEnd::start(std::move(start), run.log, run.terminal, run.signals);
    if (!remote) return remote;
    if (const std::string advice = (*remote)->reply().get("advice"); !advice.empty()) {
        run.log.detail(command.sources.front().host + ": " + advice);
    }
    return remote;
}

Result<transfer::ReceiveOptions> where_to(const RecvCommand& command, const BootstrapFields& reply) {
    transfer::ReceiveOptions options;
    options.role = Role::client;
    options.resume = !command.common.no_resume;
    options.overwrite = command.overwrite;
    options.to_stream = command.to_stdout;
    if (command.to_stdout) return options;
    const auto shape = parse_source_shape(reply.get("shape"));
    if (!shape) return Error{ErrorCode::protocol, "the other side says not what it sends"};
    auto landing = find_landing(command.destination, *shape, reply.number("transfer").value_or(0));
    if (!landing) return landing.error();
    options.directory = std::move(landing->directory);
    options.rename = std::move(landing->rename);
    return options;
}

void add_missing(FinalReport& report, const BootstrapFields& reply) {
    const std::vector<std::string> missing = reply.all("missing");
    const std::vector<std::string> reasons = reply.all("reason");
    for (std::size_t i = 0; i < missing.size() && i < reasons.size(); ++i) {
        report.outcome.failed.push_back({missing[i], ErrorCode::file_io, "sender: " + reasons[i]});
        ++report.outcome.failed_count;
        if (report.code == ExitCode::ok) report.code = ExitCode::partial;
    }
}

bool resumable(const RecvCommand& command) { return !command.common.no_resume && !command.to_stdout; }

void say_error(FinalReport& report, const RecvRun& run, RemoteEnd& remote, const DialHandler& dial, int signal) {
    const RecvCommand& command = run.command;
    const Result<void>& status = report.outcome.status;
    if (signal != 0 && !status.ok()) {
        report.code = ExitCode::interrupted;
        close_books(report);
        report.error = std::string("interrupted by ") + signal_name(signal) + ": " + describe_delivery(report) +
                       how_to_go_on(report.outcome, true);
    } else if (!status.ok() && status.error().code != ErrorCode::partial) {
        report.error = explain(status.error(), context_over_ssh(remote, command.sources.front().host, dial.connected(),
                                                                command.common.transport()));
        if (!dial.connected() && report.code == ExitCode::network) report.code = ExitCode::udp_blocked;
        close_books(report);
        if (dial.connected()) report.error += "; " + describe_delivery(report) + how_to_go_on(report.outcome, false);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, kFailed, command.common.quiet);
    }
}

/// Of a run, over all its connections.
struct Fetching {
    const RecvRun& run;
    std::unique_ptr<TransferWatch>& watch;
    LeaveReceiver leave;
};

FinalReport make_report(const Fetching& fetching, RemoteEnd& remote, const Supervisor& supervisor,
                        const DialHandler& dial, const transfer::Job& job) {
    const RecvRun& run = fetching.run;
    const Account& account = fetching.watch->account();
    FinalReport report;
    report.elapsed = supervisor.elapsed();
    report.outcome = account.whole(job.result());
    report.outcome.exact = supervisor.ended();
    report.streaming = run.command.to_stdout;
    // Left behind before it had come to its end.
    if (const auto& why = supervisor.given_up(); why && report.outcome.status.ok() && !supervisor.ended()) {
        report.outcome.status = *why;
    }
    report.progress = account.whole(job.progress());
    report.stats = dial.final_stats();
    report.congestion = run.command.common.congestion;
    report.code = exit_code_for(report.outcome);
    add_missing(report, remote.reply());
    say_error(report, run, remote, dial, supervisor.signal());
    return report;
}

std::vector<proto::PathAddresses> candidates(const std::vector<Address>& addresses) {
    std::vector<proto::PathAddresses> plans;
    for (const Address& address : addresses) plans.push_back({.local = {}, .remote = address, .options = {}});
    return plans;
}

Result<std::unique_ptr<TransferWatch>> watch_pull(const RecvRun& run, Duration patience) {
    const RecvCommand& command = run.command;
    TransferWatch::Subject subject{DataEnd::receiver, command.sources.front().host, command.to_stdout};
    if (resumable(command)) subject.tries_again_for = patience;
    auto watch = TransferWatch::start(command.common, run.log, std::move(subject), [&run](const std::string& line) {
        if (run.command.to_stdout) return run.terminal.line(line);
        (void)write_all(STDOUT_FILENO, line + "\n");
    });
    if (watch) (*watch)->show_on(run.terminal);
    return watch;
}

Attempt not_begun(const Fetching& fetching, const Error& error, Attempt::End end) {
    FinalReport report = never_began(fetching.run.command.common, error);
    report.outcome = fetching.watch->account().whole(std::move(report.outcome));
    return {std::move(report), end, {}};
}

/// One connection's worth of a transfer.
Attempt fetch_over(const Fetching& fetching, RemoteEnd& remote) {
    const RecvRun& run = fetching.run;
    const RecvCommand& command = run.command;
    TransferWatch& watch = *fetching.watch;
    const auto final_end = [&](const Error& error) { return not_begun(fetching, error, Attempt::End::final); };
    auto options = where_to(command, remote.reply());
    if (!options) return final_end(options.error());
    TransportConfig config = command.common.transport();
    // The sender there keeps to the cap that it was started with.
    config.max_rate = Rate::infinite();
    if (resumable(command)) command.common.leave_time_to_reconnect(config);
    auto transport = Transport::make(remote.credentials(), config);
    if (!transport) return final_end(transport.error());
    io::Driver& driver = (*transport)->driver();
    auto ways = candidates(remote.addresses());
    if (const auto opened = io::open_socket_for(driver, ways); !opened) return final_end(opened.error());
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.info(advice);

    const auto receipt = open_receipt(command.common.receipt_text);
    if (!receipt) return final_end(receipt.error());
    options->receipt = receipt->get();
    const auto leave = [&](FinalReport report) {
        if (*receipt) (*receipt)->discard();
        watch.finish(report);
        fetching.watch.reset();  // the process may end in there: the control socket is to go before
        fetching.leave(run, report);
    };
    std::atomic<bool> done{false};
    auto job = transfer::ReceiveJob::create(std::move(*options), [&done, &run] {
        done = true;
        run.signals.wake();
    });
    if (!job) return final_end(job.error());
    const auto dial = std::make_shared<DialHandler>(driver, std::move(ways), false, **job, run.log);
    dial->dial();
    Supervisor supervisor({command.common, run.signals, DataEnd::receiver, command.to_stdout, kWindUpWithin, watch,
                           **transport, run.log, [&job] { return (*job)->written_for(); }},
                          *dial, **job, done);
    (*transport)->start();
    const auto report_now = [&] { return make_report(fetching, remote, supervisor, *dial, **job); };
    if (!supervisor.wait()) leave(report_now());
    (*transport)->stop(kDrainAtMost);
    supervisor.look_back();
    FinalReport report = report_now();
    if (report.code == ExitCode::interrupted) leave(report);
    const Attempt::End end = end_of(supervisor, *dial);
    const bool last = end == Attempt::End::final;
    settle_receipt(
        receipt->get(), last, [&](const std::string& path) { return (*job)->open_delivered(path); }, report);
    return {std::move(report), end, supervisor.last_moved()};
}

Attempt attempt(const Fetching& fetching, bool again) {
    const auto remote = make_while_watched(*fetching.watch, again, [&] { return start_sender(fetching.run); });
    if (remote) return fetch_over(fetching, **remote);
    return not_begun(fetching, remote.error(), end_of(remote.error()));
}

}  // namespace

FinalReport run_pull(const RecvRun& run, LeaveReceiver leave) {
    const CommonOptions& options = run.command.common;
    const Duration patience = options.timeout.value_or(kDefaultPatience);
    auto watch = watch_pull(run, patience);
    if (!watch) return never_began(options, watch.error());
    const Fetching fetching{run, *watch, leave};
    FinalReport report = keep_trying({patience, resumable(run.command), run.log, run.signals, **watch},
                                     [&](bool again) { return attempt(fetching, again); });
    (*watch)->finish(report);
    return report;
}

}  // namespace udtx::apps
