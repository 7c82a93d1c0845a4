#include "send/sender.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/descriptors.hpp"
#include "common/landing.hpp"
#include "common/transport.hpp"
#include "common/units.hpp"
#include "dial/attempt_course.hpp"
#include "dial/attempt_report.hpp"
#include "dial/attempt_waiter.hpp"
#include "dial/dial_handler.hpp"
#include "dial/reconnect.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "observe/plan_listing.hpp"
#include "observe/receipt.hpp"
#include "send/send_options.hpp"
#include "send/send_route.hpp"
#include "send/sources.hpp"
#include "transfer/job/send_job.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// So long the receiver has to tidy up and to say what it has: Ctrl-C ends the sender within 2 s, heard or not.
constexpr Duration kAnswerWithin = std::chrono::milliseconds(1500);
/// After the confirmation only the receiver waits for something, our close: time for three copies of it.
constexpr Duration kLeaveWithin = std::chrono::milliseconds(30);

/// The destination as typed: what makes this command the same as another.
std::string where_of(const SendCommand& command) {
    const auto& remote = command.remote;
    return remote ? remote->login() + ':' + remote->path : command.url.path;
}

transfer::SendJobOptions what_to_send(const SendCommand& command, const std::vector<std::string>& sources) {
    transfer::SendJobOptions options = send_options(command, sources, where_of(command));
    if (!command.remote) return options;
    // The receiver was started for that very place; a stream says how it is called there.
    const std::string& path = command.remote->path;
    options.destination = command.streaming() ? path.substr(path.rfind('/') + 1) : std::string();
    return options;
}

/// Of the receiver that is started over ssh.
BootstrapFields request_for(const SendCommand& command, const std::vector<std::string>& sources) {
    BootstrapFields request;
    // Where some of the sources are missing, what was asked for still counts.
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

/// Takes what the far end over ssh has said by now. False: it will not serve us.
bool listen_to(const SendRoute& route, transfer::SendJob& job) {
    if (!route.remote) return true;
    const auto answer = route.remote->answer();
    const bool fresh = answer && answer->has_value() && !(*answer)->get("fresh").empty();
    if (fresh) job.presume_fresh();
    return answer.ok();
}

bool gone(const SendRoute& route) { return route.remote && route.remote->gone(); }

/// Why the far end over ssh does not serve us, if that is why there is no connection.
std::optional<Error> refusal(const SendRoute& route, const DialHandler& dial, const AttemptWaiter& waiter) {
    if (!route.remote || dial.connected() || waiter.given_up()) return std::nullopt;
    const auto answer = route.remote->await_answer();
    if (!answer) return answer.error();
    return gone(route) ? std::optional(route.remote->ended_early()) : std::nullopt;
}

/// Of a run, over all its connections.
struct Sending {
    const SendRun& run;
    const CheckedSources& sources;
    std::unique_ptr<TransferObservers>& observers;
    transfer::SentNames& sent;
    LeaveSender leave;
};

FinalReport make_report(const Sending& sending, const SendRoute& route, const AttemptWaiter& waiter,
                        const DialHandler& dial, const transfer::SendJob& job) {
    const SendCommand& command = sending.run.command;
    AttemptFacts facts{command.common, DataEnd::sender};
    facts.streaming = command.streaming();
    facts.dry_run = command.tree.dry_run;
    facts.congestion = command.congestion_in_use();
    facts.missing = sending.sources.failed;
    facts.context = [&] { return context_of(command, route, dial.connected()); };
    return attempt_report(std::move(facts), *sending.observers, waiter, dial, job);
}

transfer::SendJobOptions what_to_send(const Sending& sending) {
    const SendRun& run = sending.run;
    transfer::SendJobOptions options = what_to_send(run.command, sending.sources.usable);
    options.planned = plan_listing(run.log, listing_of(run.command.tree, run.command.common, false));
    if (options.erase && !sending.sources.failed.empty()) {
        run.log.warn("--delete: nothing is deleted, since not all sources can be read");
        options.erase = false;
    }
    if (run.command.resumable() && !run.command.tree.dry_run) options.sent = &sending.sent;
    return options;
}

/// The cap of now may be below --min-rate, by the hour or the host: as the rate of a connection that would be refused.
Rate first_cap(const Sending& sending, TransportConfig& config) {
    const Rate cap = sending.observers->first_cap(monotonic_now());
    if (cap != sending.run.command.common.rate) sending.run.log.info(describe_rate_cap(cap));
    config.max_rate = std::max(cap, config.min_rate);
    return cap;
}

/// One connection's worth of a transfer.
Attempt send_over(const Sending& sending, const SendRoute& route) {
    const SendRun& run = sending.run;
    const SendCommand& command = run.command;
    TransferObservers& observers = *sending.observers;
    const auto final_end = [&](const Error& error) {
        return not_begun(command.common, observers, error, Attempt::End::final);
    };
    TransportConfig config = command.transport();
    dial_within(config, route.left);
    const Rate cap = first_cap(sending, config);
    auto candidates = command.paths.plan(route.addresses, command.common.addresses, route.left.has_value());
    if (!candidates) return not_begun(command.common, observers, candidates.error(), end_of(candidates.error()));
    auto transport = Transport::make_open(route.credentials, config, command.common.driver(), *candidates);
    if (!transport) return final_end(transport.error());
    io::Driver& driver = (*transport)->driver();
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.detail(advice);

    const auto receipt = open_receipt(command.common.receipt_text);
    if (!receipt) return final_end(receipt.error());
    const auto leave = [&](FinalReport report) {
        observers.finish(report);
        // The process may end in there.
        if (*receipt) (*receipt)->discard();
        sending.observers.reset();
        sending.leave(run, report);
    };
    std::atomic<bool> done{false};
    transfer::SendJobOptions options = what_to_send(sending);
    options.receipt = receipt->get();
    auto job = transfer::SendJob::create(std::move(options), [&done, &run] {
        done = true;
        run.signals.wake();
    });
    if (!job) return final_end(job.error());
    const auto dial =
        std::make_shared<DialHandler>(driver, std::move(*candidates), !command.paths.requests.empty(), **job, run.log);
    if (cap < config.max_rate) dial->set_max_rate(cap);
    dial->dial();
    AttemptWaiter waiter({.options = command.common,
                          .signals = run.signals,
                          .end = DataEnd::sender,
                          .streaming = command.streaming(),
                          .wind_up_within = kAnswerWithin,
                          .observers = observers,
                          .transport = **transport,
                          .log = run.log,
                          .hopeless = [&] { return (!listen_to(route, **job) || gone(route)) && !dial->connected(); },
                          .far_end_gone = [&] { return gone(route); }},
                         *dial, **job, done);
    return run_attempt({.options = command.common,
                        .observers = observers,
                        .transport = **transport,
                        .dial = *dial,
                        .waiter = waiter,
                        .receipt = receipt->get(),
                        .open_kept = [&](const std::string& path) { return (*job)->open_source(path); },
                        .report = [&] { return make_report(sending, route, waiter, *dial, **job); },
                        .refusal = [&] { return refusal(route, *dial, waiter); },
                        .drain = [&] { return (*job)->result().status.ok() ? kLeaveWithin : kDrainAtMost; },
                        .leave = leave});
}

Attempt attempt(const Sending& sending, std::optional<Duration> left) {
    const SendRun& run = sending.run;
    auto route = make_while_observed(*sending.observers, left.has_value(), [&] {
        return find_route(run,
                          run.command.remote ? request_for(run.command, sending.sources.usable) : BootstrapFields());
    });
    if (!route) return not_begun(run.command.common, *sending.observers, route.error(), end_of(route.error()));
    route->left = left;
    return send_over(sending, *route);
}

Result<std::unique_ptr<TransferObservers>> observe_push(const SendRun& run, Duration patience) {
    const SendCommand& command = run.command;
    TransferObservers::Subject subject{DataEnd::sender, command.remote ? command.remote->host : authority(command.url),
                                       command.streaming()};
    if (command.resumable()) subject.tries_again_for = patience;
    subject.card = card_of(command);
    // That the JSON stream cannot be written is told by its last object.
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
    const bool only_one = command.sources.size() == 1;  // then the error line says it
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
    const Duration patience = command.common.timeout.value_or(kDefaultPatience);
    auto observers = observe_push(run, patience);
    if (!observers) return never_began(command.common, observers.error());
    transfer::SentNames sent;
    const Sending sending{run, sources, *observers, sent, leave};
    FinalReport report =
        keep_trying({patience, command.resumable(), command.remote.has_value(), run.log, run.signals, **observers},
                    [&](std::optional<Duration> left) { return attempt(sending, left); });
    (*observers)->finish(report);
    return report;
}

}  // namespace udtx::apps
