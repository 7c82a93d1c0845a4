#include "receive/pull.hpp"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/descriptors.hpp"
#include "common/transport.hpp"
#include "dial/attempt_course.hpp"
#include "dial/attempt_report.hpp"
#include "dial/attempt_waiter.hpp"
#include "dial/dial_handler.hpp"
#include "dial/reconnect.hpp"
#include "observe/final_report.hpp"
#include "observe/receipt.hpp"
#include "receive/pull_route.hpp"
#include "transfer/job/receive_job.hpp"

namespace udtx::apps {
namespace {

/// So long our own disk has to take what is complete and to lose what is not.
constexpr Duration kWindUpWithin = std::chrono::seconds(5);
/// Over ssh, for our confirmation to leave.
constexpr Duration kLeaveWithin = std::chrono::milliseconds(10);

/// Of a run, over all its connections.
struct Fetching {
    const RecvRun& run;
    std::unique_ptr<TransferObservers>& observers;
    LeaveReceiver leave;
};

FinalReport make_report(const Fetching& fetching, const PullRoute& route, const AttemptWaiter& waiter,
                        const DialHandler& dial, const transfer::Job& job) {
    const RecvCommand& command = fetching.run.command;
    AttemptFacts facts{command.common, DataEnd::receiver};
    facts.streaming = command.to_stdout;
    facts.dry_run = command.tree.dry_run;
    facts.congestion = command.common.congestion;
    facts.missing = route.missing->all();
    facts.context = [&] { return context_of(command, route, dial); };
    const bool spared = command.tree.erase && !facts.missing.empty();
    FinalReport report = attempt_report(std::move(facts), *fetching.observers, waiter, dial, job);
    if (spared) {
        report.outcome.warnings.emplace_back("--delete: nothing is deleted, since not all sources can be read");
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
    // The cap is for what comes. Over ssh the sender was started with it, a server hears of it in the handshake.
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
    if (resumable(command)) command.common.leave_time_to_reconnect(config);
    dial_within(config, route.left);
    return config;
}

/// Takes what the sender said over ssh of the sources.
Result<void> take_answer(const PullRoute& route) {
    if (!route.remote) return {};
    const auto answer = route.remote->await_answer();
    if (!answer) return answer.error();
    if (!answer->has_value()) return {};
    const std::vector<std::string> missing = (*answer)->all("missing");
    const std::vector<std::string> reasons = (*answer)->all("reason");
    for (std::size_t i = 0; i < missing.size() && i < reasons.size(); ++i) route.missing->add(missing[i], reasons[i]);
    return {};
}

bool gone(const PullRoute& route) { return route.remote && route.remote->gone(); }

/// Takes the answer of the sender over ssh. Why it does not serve us, if that is why there is no connection.
std::optional<Error> take_refusal(const PullRoute& route, const DialHandler& dial, const AttemptWaiter& waiter) {
    if (waiter.given_up()) return std::nullopt;
    const auto answered = take_answer(route);
    if (dial.connected()) return std::nullopt;
    if (!answered) return answered.error();
    return gone(route) ? std::optional(route.remote->ended_early()) : std::nullopt;
}

Duration time_to_leave(const PullRoute& route, const transfer::ReceiveJob& job) {
    return route.remote && job.result().status.ok() ? kLeaveWithin : kDrainAtMost;
}

/// One connection's worth of a transfer.
Attempt fetch_over(const Fetching& fetching, const PullRoute& route) {
    const RecvRun& run = fetching.run;
    const RecvCommand& command = run.command;
    TransferObservers& observers = *fetching.observers;
    const auto final_end = [&](const Error& error) {
        return not_begun(command.common, observers, error, Attempt::End::final);
    };
    auto options = where_to(run, route);
    if (!options) return final_end(options.error());
    auto ways = route.ways;
    auto transport = Transport::make_open(route.credentials, config_of(command, route), command.common.driver(), ways);
    if (!transport) return final_end(transport.error());
    io::Driver& driver = (*transport)->driver();
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.info(advice);

    const auto receipt = open_receipt(command.common.receipt_text);
    if (!receipt) return final_end(receipt.error());
    options->receipt = receipt->get();
    const auto leave = [&](FinalReport report) {
        if (*receipt) (*receipt)->discard();
        observers.finish(report);
        fetching.observers.reset();  // the process may end in there: the control socket is to go before
        fetching.leave(run, report);
    };
    std::atomic<bool> done{false};
    auto job = transfer::ReceiveJob::create(std::move(*options), [&done, &run] {
        done = true;
        run.signals.wake();
    });
    if (!job) return final_end(job.error());
    const bool several = command.server && !command.paths.requests.empty();
    const auto dial = std::make_shared<DialHandler>(driver, std::move(ways), several, **job, run.log);
    dial->dial();
    AttemptWaiter waiter(
        {.options = command.common,
         .signals = run.signals,
         .end = DataEnd::receiver,
         .streaming = command.to_stdout,
         .wind_up_within = kWindUpWithin,
         .observers = observers,
         .transport = **transport,
         .log = run.log,
         .writing = [&job] { return (*job)->written_for(); },
         .hopeless =
             [&] { return route.remote && (!route.remote->answer().ok() || gone(route)) && !dial->connected(); },
         .far_end_gone = [&] { return gone(route); }},
        *dial, **job, done);
    return run_attempt({.options = command.common,
                        .observers = observers,
                        .transport = **transport,
                        .dial = *dial,
                        .waiter = waiter,
                        .receipt = receipt->get(),
                        .open_kept = [&](const std::string& path) { return (*job)->open_delivered(path); },
                        .report = [&] { return make_report(fetching, route, waiter, *dial, **job); },
                        .refusal = [&] { return take_refusal(route, *dial, waiter); },
                        .drain = [&] { return time_to_leave(route, **job); },
                        .leave = leave});
}

Attempt attempt(const Fetching& fetching, std::optional<Duration> left) {
    const bool again = left.has_value();
    auto route = make_while_observed(*fetching.observers, again, [&] { return find_route(fetching.run, again); });
    if (!route)
        return not_begun(fetching.run.command.common, *fetching.observers, route.error(), end_of(route.error()));
    route->left = left;
    return fetch_over(fetching, *route);
}

}  // namespace

FinalReport run_pull(const RecvRun& run, LeaveReceiver leave) {
    const CommonOptions& options = run.command.common;
    const Duration patience = options.timeout.value_or(kDefaultPatience);
    auto observers = observe_pull(run, patience);
    if (!observers) return never_began(options, observers.error());
    const Fetching fetching{run, *observers, leave};
    FinalReport report = keep_trying(
        {patience, resumable(run.command), !run.command.server.has_value(), run.log, run.signals, **observers},
        [&](std::optional<Duration> left) { return attempt(fetching, left); });
    (*observers)->finish(report);
    return report;
}

}  // namespace udtx::apps
