#include "udtx-send/sender.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/dial_handler.hpp"
#include "common/progress_display.hpp"
#include "common/show_report.hpp"
#include "common/transport.hpp"
#include "common/units.hpp"
#include "io/monotonic_clock.hpp"
#include "io/path_plan.hpp"
#include "transfer/send_job.hpp"
#include "transfer/transfer_number.hpp"
#include "udtx-send/explain.hpp"
#include "udtx-send/sources.hpp"

namespace udtx::apps {
namespace {

/// So long the receiver has to tidy up and to say what it has ...
constexpr Duration kAnswerWithin = std::chrono::milliseconds(1500);
/// ... and so long we have after that to close without its answer.
constexpr Duration kCloseWithin = std::chrono::milliseconds(300);
static_assert(kAnswerWithin + kCloseWithin < std::chrono::seconds(2),
              "Ctrl-C ends the sender within 2 s, heard or not");
constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);
/// After the confirmation only the receiver waits for something, our close: time for three copies of it.
constexpr Duration kLeaveWithin = std::chrono::milliseconds(30);
/// Without --timeout: long enough for the slowest disk to flush, short enough for nobody to wait until next morning.
constexpr Duration kDefaultPatience = std::chrono::minutes(10);

FinalReport failure(const SendCommand& command, const Error& error) {
    FinalReport report;
    report.code = exit_code_for(error.code);
    report.error = error.message;
    report.congestion = command.common.congestion_in_use();
    report.transfers = 0;
    return report;
}

Result<Credentials> sender_credentials(const SendCommand& command) {
    auto credentials = load_credentials(command.common);
    if (!credentials || command.pin.empty()) return credentials;
    const auto key = PublicKey::parse(command.pin);
    const auto trusted = key ? credentials->trust(*key) : credentials->trust_file(command.pin);
    if (trusted) return credentials;
    Error error = key_error(trusted.error(), "--pin");
    error.message += "; --pin takes the receiver's public key (\"udtx-ed25519 BASE64\") or a file of such lines";
    return error;
}

/// What to dial: the paths that were asked for, or else the receiver's addresses.
Result<std::vector<proto::PathAddresses>> dial_plan(const SendCommand& command, const std::vector<Address>& addresses) {
    std::vector<proto::PathAddresses> plans;
    if (command.paths.empty()) {
        for (const Address& address : addresses) plans.push_back({.local = {}, .remote = address, .options = {}});
        return plans;
    }
    const auto interfaces = io::list_interfaces();
    if (!interfaces) return interfaces.error();
    for (const PathRequest& path : command.paths) {
        auto plan = io::plan_path(path, *interfaces, addresses, command.common.addresses);
        if (!plan) return Error{plan.error().code, "--path " + plan.error().message};
        plan->options.standby = command.failover() && !plans.empty();
        plans.push_back(*plan);
    }
    return plans;
}

bool resumable(const SendCommand& command) { return !command.common.no_resume && !command.streaming(); }

transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources) {
    transfer::SendOptions options;
    if (resumable(command)) options.transfer = transfer::transfer_number(sources, command.url.path);
    options.sources = std::move(sources);
    options.destination = command.url.path;
    options.preserve = command.common.preserve;
    options.hash =
        command.common.checksum == "sha256" ? transfer::HashAlgorithm::sha256 : transfer::HashAlgorithm::xxh3_128;
    return options;
}

/// One transfer under way: waits for its end, a signal or the end of patience.
class Supervisor {
  public:
    Supervisor(const SendRun& run, DialHandler& dial, const transfer::SendJob& job, const std::atomic<bool>& done)
        : run_(run),
          dial_(dial),
          job_(job),
          done_(done),
          display_(run.terminal,
                   ProgressDisplay::choose(run.command.common.quiet, run.command.common.progress, run.terminal),
                   DataEnd::sender, run.command.common.verbose) {}

    /// False when the transfer had to be left behind unfinished.
    [[nodiscard]] bool wait() {
        while (!done_) {
            const auto signal = run_.signals.wait(std::chrono::milliseconds(100));
            const Instant now = io::monotonic_now();
            if (signal && !interrupt(*signal, now)) return false;
            if (given_up_ && now >= given_up_at_ + kAnswerWithin && !std::exchange(closed_, true)) ask_to_end();
            if (given_up_ && now >= given_up_at_ + kAnswerWithin + kCloseWithin) return false;
            const auto progress = job_.progress();
            show(now, progress);
            watch(now, progress);
        }
        end_ = io::monotonic_now();
        display_.finish();
        return true;
    }
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// Why the transfer was ended from here, if it was.
    [[nodiscard]] const std::optional<Error>& given_up() const noexcept { return given_up_; }
    [[nodiscard]] bool ended() const noexcept { return end_.has_value(); }
    [[nodiscard]] Duration elapsed() const { return end_.value_or(io::monotonic_now()) - start_; }

  private:
    void show(Instant now, const transfer::Progress& progress) {
        std::optional<ConnectionStats> stats;
        if (display_.with_paths()) {
            stats = dial_.final_stats();
            dial_.sample_stats();  // for the next time
        }
        display_.update(now - start_, progress, run_.command.streaming(), stats);
    }

    /// False: leave at once.
    bool interrupt(int signal, Instant now) {
        const auto wish = interruption_.on_signal(signal, now);
        if (wish == Interruption::Wish::wind_up) {
            give_up(now, ErrorCode::interrupted,
                    std::string("interrupted by ") + signal_name(signal) + " at the sender");
        }
        return wish != Interruption::Wish::leave;
    }

    void give_up(Instant now, ErrorCode code, std::string reason) {
        if (!given_up_) given_up_at_ = now;
        given_up_ = Error{code, std::move(reason)};
        ask_to_end();
    }
    /// The first time in good order, the second time at once.
    void ask_to_end() { dial_.abort(given_up_->code, given_up_->message); }

    void watch(Instant now, const transfer::Progress& progress) {
        const auto& limit = run_.command.common.timeout;
        // The handshake has its own limit, and a pipe may rest for as long as its writer likes.
        if (given_up_ || progress.phase == transfer::Phase::connect || (run_.command.streaming() && !limit)) return;
        const Duration patience = limit.value_or(kDefaultPatience);
        if (stall_.idle(now - start_, progress) < patience) return;
        give_up(now, ErrorCode::timeout, "nothing moved for " + format_elapsed(patience));
    }

    const SendRun& run_;
    DialHandler& dial_;
    const transfer::SendJob& job_;
    const std::atomic<bool>& done_;
    ProgressDisplay display_;
    StallWatch stall_;
    Instant start_ = io::monotonic_now();
    std::optional<Instant> end_;
    Interruption interruption_;
    std::optional<Error> given_up_;
    Instant given_up_at_{};
    bool closed_ = false;
};

void add_missing(FinalReport& report, const std::vector<transfer::FailedFile>& missing) {
    if (missing.empty()) return;
    report.outcome.failed.insert(report.outcome.failed.begin(), missing.begin(), missing.end());
    report.outcome.failed_count += missing.size();
    if (report.code == ExitCode::ok) report.code = ExitCode::partial;
}

const char* how_to_go_on(const SendCommand& command, const DialHandler& dial) {
    return resumable(command) && dial.connected() ? "; the same command continues from here" : "";
}

void say_error(FinalReport& report, const SendRun& run, const DialHandler& dial, int signal) {
    const Result<void>& status = report.outcome.status;
    if (signal != 0 && !status.ok()) {
        report.code = ExitCode::interrupted;
        close_books(report);
        report.error = std::string("interrupted by ") + signal_name(signal) + ": " + describe_delivery(report) +
                       how_to_go_on(run.command, dial);
    } else if (!status.ok() && status.error().code != ErrorCode::partial) {
        const TransportConfig config = run.command.common.transport();
        const DialContext context{run.command.url, dial.connected(), !run.command.pin.empty(),
                                  config.handshake_timeout};
        report.error = explain(status.error(), context);
        close_books(report);
        if (dial.connected() && status.error().code != ErrorCode::authentication)
            report.error += "; " + describe_delivery(report) + how_to_go_on(run.command, dial);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, "not delivered", run.command.common.quiet);
    }
}

FinalReport make_report(const SendRun& run, const Supervisor& supervisor, const DialHandler& dial,
                        const transfer::SendJob& job, const std::vector<transfer::FailedFile>& missing) {
    FinalReport report;
    report.elapsed = supervisor.elapsed();
    report.outcome = job.result();
    report.streaming = run.command.streaming();
    // Left behind before it had come to its end.
    if (const auto& why = supervisor.given_up(); why && report.outcome.status.ok() && !supervisor.ended()) {
        report.outcome.status = *why;
    }
    report.progress = job.progress();
    report.stats = dial.final_stats();
    report.congestion = run.command.common.congestion_in_use();
    report.code = exit_code_for(report.outcome);
    add_missing(report, missing);
    say_error(report, run, dial, supervisor.signal());
    return report;
}

}  // namespace

FinalReport run_sender(const SendRun& run, void (*leave)(const SendRun&, const FinalReport&)) {
    const SendCommand& command = run.command;
    CheckedSources sources = check_sources(command.sources);
    const bool only_one = command.sources.size() == 1;  // then the error line says it
    for (const auto& file : sources.failed) {
        if (!only_one) run.log.warn("cannot send " + describe(file));
    }
    if (sources.usable.empty()) {
        FinalReport report = failure(
            command,
            {ErrorCode::file_io, only_one ? "cannot send " + describe(sources.failed[0]) : "no source can be read"});
        report.outcome.failed_count = sources.failed.size();
        report.outcome.failed = std::move(sources.failed);
        return report;
    }
    const auto credentials = sender_credentials(command);
    if (!credentials) return failure(command, credentials.error());
    auto addresses = io::resolve(command.url.host, command.url.port, command.common.addresses);
    if (!addresses) {
        const bool v4 = command.common.addresses == io::AddressChoice::v4_only;
        const bool any = command.common.addresses == io::AddressChoice::any;
        const std::string hint = any ? "" : v4 ? " (with -4, as IPv4)" : " (with -6, as IPv6)";
        return failure(command, {addresses.error().code, addresses.error().message + hint});
    }
    auto transport = Transport::make(*credentials, command.transport());
    if (!transport) return failure(command, transport.error());
    io::Driver& driver = (*transport)->driver();
    auto candidates = dial_plan(command, *addresses);
    if (!candidates) return failure(command, candidates.error());
    if (const auto opened = io::open_socket_for(driver, *candidates); !opened) return failure(command, opened.error());
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.detail(advice);

    std::atomic<bool> done{false};
    auto job = transfer::SendJob::create(send_options(command, std::move(sources.usable)), [&done, &run] {
        done = true;
        run.signals.wake();
    });
    if (!job) return failure(command, job.error());
    const auto dial =
        std::make_shared<DialHandler>(driver, std::move(*candidates), !command.paths.empty(), **job, run.log);
    dial->dial();
    Supervisor supervisor(run, *dial, **job, done);
    (*transport)->start();
    if (!supervisor.wait()) {
        leave(run, make_report(run, supervisor, *dial, **job, sources.failed));
    }
    dial->sample_stats();
    const bool confirmed = (*job)->result().status.ok();
    (*transport)->stop(confirmed ? kLeaveWithin : kDrainAtMost);
    FinalReport report = make_report(run, supervisor, *dial, **job, sources.failed);
    // A disk thread may sit in a read of standard input that nobody can end.
    if (report.code == ExitCode::interrupted) leave(run, report);
    return report;
}

}  // namespace udtx::apps
