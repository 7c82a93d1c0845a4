#include "udtx-send/sender.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/progress_display.hpp"
#include "common/transport.hpp"
#include "common/units.hpp"
#include "io/monotonic_clock.hpp"
#include "transfer/send_job.hpp"
#include "udtx-send/dial_handler.hpp"
#include "udtx-send/explain.hpp"
#include "udtx-send/sources.hpp"

namespace udtx::apps {
namespace {

/// Ctrl-C promises an end within 2 s.
constexpr Duration kInterruptGrace = std::chrono::milliseconds(1500);
constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);
/// Without --timeout: long enough for the slowest disk to flush, short enough for nobody to wait until next morning.
constexpr Duration kDefaultPatience = std::chrono::minutes(10);

FinalReport failure(const SendCommand& command, const Error& error) {
    FinalReport report;
    report.code = exit_code_for(error.code);
    report.error = error.message;
    report.congestion = command.common.congestion;
    report.transfers = 0;
    return report;
}

Result<Credentials> sender_credentials(const SendCommand& command) {
    auto credentials = load_credentials(command.common);
    if (!credentials || command.pin.empty()) return credentials;
    const auto key = PublicKey::parse(command.pin);
    const auto trusted = key ? credentials->trust(*key) : credentials->trust_file(command.pin);
    if (!trusted) return Error{trusted.error().code, "--pin: " + trusted.error().message};
    return credentials;
}

/// A socket that reaches all of `addresses`; those it cannot reach are taken out.
Result<void> open_socket_for(io::Driver& driver, std::vector<Address>& addresses) {
    const auto is_v6 = [](const Address& a) { return a.family == Address::Family::v6; };
    Address any;
    any.family = Address::Family::v6;
    if (std::any_of(addresses.begin(), addresses.end(), is_v6)) {
        auto opened = driver.open(any);
        // Hosts without IPv6 resolve names to IPv6 addresses all the same.
        if (opened || std::all_of(addresses.begin(), addresses.end(), is_v6)) return opened;
        addresses.erase(std::remove_if(addresses.begin(), addresses.end(), is_v6), addresses.end());
    }
    any.family = Address::Family::v4;
    return driver.open(any);
}

transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources) {
    transfer::SendOptions options;
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
                   ProgressDisplay::choose(run.command.common.quiet, run.command.common.progress, run.terminal)) {}

    /// False when the transfer had to be left behind unfinished.
    [[nodiscard]] bool wait() {
        while (!done_) {
            const auto signal = run_.signals.wait(std::chrono::milliseconds(100));
            const Instant now = io::monotonic_now();
            if (signal && !interrupt(*signal, now)) return false;
            if (deadline_ && now >= *deadline_) return false;
            const auto progress = job_.progress();
            display_.update(now - start_, progress, run_.command.streaming());
            watch(now, progress);
        }
        end_ = io::monotonic_now();
        display_.finish();
        return true;
    }
    [[nodiscard]] int signal() const noexcept { return signal_; }
    [[nodiscard]] Duration elapsed() const { return end_.value_or(io::monotonic_now()) - start_; }

  private:
    bool interrupt(int signal, Instant now) {
        if (signal_ != 0) return false;
        signal_ = signal;
        deadline_ = now + kInterruptGrace;
        dial_.abort(ErrorCode::interrupted, std::string("interrupted by ") + signal_name(signal) + " at the sender");
        return true;
    }

    void watch(Instant now, const transfer::Progress& progress) {
        const auto& limit = run_.command.common.timeout;
        // The handshake has its own limit, and a pipe may rest for as long as its writer likes.
        if (deadline_ || progress.phase == transfer::Phase::connect || (run_.command.streaming() && !limit)) return;
        const Duration patience = limit.value_or(kDefaultPatience);
        if (stall_.idle(now - start_, progress) < patience) return;
        deadline_ = now + kInterruptGrace;
        dial_.abort(ErrorCode::timeout, "nothing moved for " + format_elapsed(patience));
    }

    const SendRun& run_;
    DialHandler& dial_;
    const transfer::SendJob& job_;
    const std::atomic<bool>& done_;
    ProgressDisplay display_;
    StallWatch stall_;
    Instant start_ = io::monotonic_now();
    std::optional<Instant> end_;
    std::optional<Instant> deadline_;
    int signal_ = 0;
};

void add_missing(FinalReport& report, const std::vector<transfer::FailedFile>& missing) {
    if (missing.empty()) return;
    report.outcome.failed.insert(report.outcome.failed.begin(), missing.begin(), missing.end());
    report.outcome.failed_count += missing.size();
    if (report.code == ExitCode::ok) report.code = ExitCode::partial;
}

std::string partial_message(const FinalReport& report) {
    std::string message = std::to_string(report.outcome.failed_count) + " of the sources could not be delivered";
    if (report.outcome.failed.empty()) return message;
    const auto& first = report.outcome.failed.front();
    if (report.outcome.failed_count == 1) return "not delivered: " + describe(first);
    return message + ", the first is " + describe(first);
}

void say_error(FinalReport& report, const SendRun& run, const DialHandler& dial, int signal) {
    const Result<void>& status = report.outcome.status;
    if (signal != 0 && !status.ok()) {
        report.code = ExitCode::interrupted;
        report.error = std::string("interrupted by ") + signal_name(signal) + ": " + describe_delivery(report);
    } else if (!status.ok() && status.error().code != ErrorCode::partial) {
        const TransportConfig config = run.command.common.transport();
        const DialContext context{run.command.url, dial.connected(), !run.command.pin.empty(),
                                  config.handshake_timeout};
        report.error = explain(status.error(), context);
        if (dial.connected()) report.error += "; " + describe_delivery(report);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report);
    }
}

FinalReport make_report(const SendRun& run, const Supervisor& supervisor, const DialHandler& dial,
                        const transfer::SendJob& job, const std::vector<transfer::FailedFile>& missing) {
    FinalReport report;
    report.elapsed = supervisor.elapsed();
    report.outcome = job.result();
    report.progress = job.progress();
    report.stats = dial.final_stats();
    report.congestion = run.command.common.congestion;
    report.code = exit_code_for(report.outcome);
    add_missing(report, missing);
    say_error(report, run, dial, supervisor.signal());
    return report;
}

}  // namespace

FinalReport run_sender(const SendRun& run, void (*leave)(const SendRun&, const FinalReport&)) {
    const SendCommand& command = run.command;
    CheckedSources sources = check_sources(command.sources);
    for (const auto& file : sources.failed) run.log.warn("cannot send " + describe(file));
    if (sources.usable.empty()) {
        FinalReport report =
            failure(command, {ErrorCode::file_io, "no source can be read: " + describe(sources.failed[0])});
        report.outcome.failed_count = sources.failed.size();
        report.outcome.failed = std::move(sources.failed);
        return report;
    }
    const auto credentials = sender_credentials(command);
    if (!credentials) return failure(command, credentials.error());
    auto addresses = io::resolve(command.url.host, command.url.port, command.common.addresses);
    if (!addresses) return failure(command, addresses.error());
    auto transport = Transport::make(*credentials, command.common.transport());
    if (!transport) return failure(command, transport.error());
    io::Driver& driver = (*transport)->driver();
    if (const auto opened = open_socket_for(driver, *addresses); !opened) return failure(command, opened.error());
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.detail(advice);

    std::atomic<bool> done{false};
    auto job = transfer::SendJob::create(send_options(command, std::move(sources.usable)), [&done, &run] {
        done = true;
        run.signals.wake();
    });
    if (!job) return failure(command, job.error());
    const auto dial = std::make_shared<DialHandler>(driver, std::move(*addresses), **job, run.log);
    dial->dial();
    Supervisor supervisor(run, *dial, **job, done);
    (*transport)->start();
    if (!supervisor.wait()) {
        leave(run, make_report(run, supervisor, *dial, **job, sources.failed));
    }
    dial->sample_stats();
    (*transport)->stop(kDrainAtMost);
    FinalReport report = make_report(run, supervisor, *dial, **job, sources.failed);
    // A disk thread may sit in a read of standard input that nobody can end.
    if (report.code == ExitCode::interrupted) leave(run, report);
    return report;
}

}  // namespace udtx::apps
