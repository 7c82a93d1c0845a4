#include "udtx-recv/server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "common/progress_display.hpp"
#include "common/receipt.hpp"
#include "common/show_report.hpp"
#include "common/transport.hpp"
#include "common/units.hpp"
#include "io/monotonic_clock.hpp"
#include "udtx-recv/session.hpp"

namespace udtx::apps {
namespace {

/// After a signal: so long our own disk has to take what is complete and to lose what is not.
constexpr Duration kInterruptGrace = std::chrono::seconds(5);
/// Between two lines about keys that were refused; with -v all are told.
constexpr Duration kBetweenRefusals = std::chrono::seconds(1);
constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);
constexpr Duration kDefaultPatience = std::chrono::minutes(10);
constexpr std::size_t kMaxConnections = 64;
constexpr const char* kFailed = "not received";

Error io_error(const std::string& what, int error) {
    return {ErrorCode::file_io, what + ": " + std::generic_category().message(error)};
}

Result<void> check_directory(const RecvCommand& command) {
    if (command.to_stdout) return {};
    struct stat info {};
    const std::string& directory = command.directory;
    if (::stat(directory.c_str(), &info) != 0) return io_error("--dir " + directory, errno);
    if (!S_ISDIR(info.st_mode)) return io_error("--dir " + directory, ENOTDIR);
    if (::access(directory.c_str(), W_OK | X_OK) != 0)
        return io_error("--dir " + directory + " cannot be written", errno);
    return {};
}

Result<Credentials> receiver_credentials(const RecvCommand& command) {
    auto credentials = load_credentials(command.common);
    if (!credentials || command.authorized_keys.empty()) return credentials;
    const auto trusted = credentials->trust_file(command.authorized_keys);
    return trusted ? credentials : key_error(trusted.error(), "--authorized-keys");
}

/// The first address of the name on which a socket can be opened.
Result<void> open_socket(io::Driver& driver, const RecvCommand& command) {
    const auto addresses = io::resolve(command.listen.host, command.listen.port, command.common.addresses);
    if (!addresses) return addresses.error();
    Result<void> opened;
    for (const Address& address : *addresses) {
        opened = driver.open(address);
        if (opened) return opened;
    }
    return opened;
}

FinalReport failure(const RecvCommand& command, const Error& error) {
    FinalReport report;
    report.code = exit_code_for(error.code);
    report.error = error.message;
    report.congestion = command.common.congestion;
    report.transfers = 0;
    return report;
}

FinalReport report_of(const RecvCommand& command, const Session& session) {
    FinalReport report;
    report.outcome = session.job().result();
    report.outcome.exact = session.done();
    report.progress = session.job().progress();
    report.elapsed = session.elapsed();
    report.stats = session.final_stats();
    report.congestion = command.common.congestion;
    report.code = exit_code_for(report.outcome);
    report.streaming = command.to_stdout;
    const Result<void>& status = report.outcome.status;
    if (!status.ok() && status.error().code != ErrorCode::partial) {
        close_books(report);
        report.error = status.error().message + "; " + describe_delivery(report);
    } else if (report.code != ExitCode::ok) {
        report.error = partial_message(report, kFailed, command.common.quiet);
    }
    return report;
}

class Server {
  public:
    Server(const RecvRun& run, io::Driver& driver, transfer::ReceiptWriter* receipt)
        : run_(run),
          driver_(driver),
          receipt_(receipt),
          display_(run.terminal,
                   ProgressDisplay::choose(run.command.common.quiet, run.command.common.progress, run.terminal),
                   DataEnd::receiver, run.command.common.verbose) {
        total_.congestion = run.command.common.congestion;
        total_.transfers = 0;
    }

    void listen() {
        driver_.listen(kMaxConnections, [this](proto::Connection& connection) { return accept(connection); });
        driver_.on_refused([this](const Address& remote, const proto::CloseReason& why) { refused(remote, why); });
    }

    /// Until the one transfer is over or a signal came. False when transfers had to be left behind.
    [[nodiscard]] bool serve() {
        for (;;) {
            const auto signal = run_.signals.wait(std::chrono::milliseconds(100));
            const Instant now = io::monotonic_now();
            if (signal && !interrupt(*signal, now)) return false;
            reap();
            const auto sessions = current();
            if (sessions.empty() && (interruption_.signal() != 0 || (run_.command.one_off && total_.transfers > 0)))
                return true;
            if (deadline_ && now >= *deadline_) return false;
            display(now, sessions);
            for (const auto& session : sessions) watch(*session, now);
        }
    }

    /// Of the whole run: the one transfer's, or the sum.
    [[nodiscard]] FinalReport report() {
        for (const auto& session : current()) add(report_of(run_.command, *session));
        if (const int signal = interruption_.signal(); signal != 0) {
            total_.code = ExitCode::interrupted;
            close_books(total_);
            total_.error = std::string("interrupted by ") + signal_name(signal) + ": " + describe_interruption();
        }
        return total_;
    }

  private:
    std::shared_ptr<proto::ConnectionHandler> accept(proto::Connection& connection) {
        const std::lock_guard lock(mutex_);
        if (closing_) return std::make_shared<RefusingHandler>(ErrorCode::interrupted, "the receiver is being stopped");
        if (run_.command.one_off && accepted_) {
            return std::make_shared<RefusingHandler>(ErrorCode::refused,
                                                     "the receiver serves one transfer only (--one-off)");
        }
        transfer::ReceiveOptions options;
        options.directory = run_.command.directory;
        options.resume = !run_.command.common.no_resume;
        options.to_stream = run_.command.to_stdout;
        options.receipt = receipt_;
        auto session = Session::make(driver_, connection, std::move(options), [this] { run_.signals.wake(); });
        if (!session) {
            run_.log.error(session.error().message);
            return std::make_shared<RefusingHandler>(session.error().code, session.error().message);
        }
        accepted_ = true;
        sessions_.push_back(*session);
        run_.log.detail("serving " + (*session)->peer());
        return std::move(*session);
    }

    [[nodiscard]] std::vector<std::shared_ptr<Session>> current() {
        const std::lock_guard lock(mutex_);
        return sessions_;
    }

    /// A handshake that failed at our end; protocol thread.
    void refused(const Address& remote, const proto::CloseReason& why) {
        const std::string line = "refused " + to_string(remote) + ": " + why.message;
        // Anyone may try a thousand times a second; a client that went away midway is no news.
        const Instant now = io::monotonic_now();
        const bool key = why.code == ErrorCode::authentication;
        if (!key || (last_refusal_ && now - *last_refusal_ < kBetweenRefusals)) return run_.log.detail(line);
        last_refusal_ = now;
        run_.log.warn(line + (run_.command.common.identity_text.empty() ? "; both ends need the same --psk-file"
                                                                        : "; see --authorized-keys"));
    }

    /// False: leave at once.
    bool interrupt(int signal, Instant now) {
        const auto wish = interruption_.on_signal(signal, now);
        if (wish != Interruption::Wish::wind_up) return wish == Interruption::Wish::nothing;
        deadline_ = now + kInterruptGrace;
        const std::lock_guard lock(mutex_);
        closing_ = true;
        for (const auto& session : sessions_) {
            session->abort(now, ErrorCode::interrupted,
                           std::string("interrupted by ") + signal_name(signal) + " at the receiver");
        }
        return true;
    }

    void reap() {
        std::vector<std::shared_ptr<Session>> over;
        {
            const std::lock_guard lock(mutex_);
            const auto first = std::stable_partition(sessions_.begin(), sessions_.end(),
                                                     [](const auto& session) { return !session->done(); });
            over.assign(first, sessions_.end());
            sessions_.erase(first, sessions_.end());
        }
        for (const auto& session : over) {
            FinalReport report = report_of(run_.command, *session);
            finish_receipt(
                receipt_, [&](const std::string& path) { return session->job().open_delivered(path); }, report);
            display_.finish();
            if (!run_.command.one_off) show(run_, report, session->peer());
            add(std::move(report));
        }
    }

    void add(FinalReport report) {
        if (total_.transfers++ == 0) {
            total_.outcome = std::move(report.outcome);
            total_.progress = report.progress;
            total_.elapsed = report.elapsed;
            total_.stats = std::move(report.stats);
            total_.code = report.code;
            total_.error = std::move(report.error);
            return;
        }
        accumulate(total_.outcome, report.outcome);
        total_.progress.files_total += report.progress.files_total;
        total_.elapsed += report.elapsed;
    }

    [[nodiscard]] std::string describe_interruption() const {
        if (total_.transfers == 0) return "no transfer was under way";
        if (run_.command.one_off) return describe_delivery(total_);
        return describe_delivery(total_) + " in " + format_count(total_.transfers) +
               (total_.transfers == 1 ? " transfer" : " transfers");
    }

    void display(Instant now, const std::vector<std::shared_ptr<Session>>& sessions) {
        if (sessions.empty()) return;
        transfer::Progress sum = sessions.front()->job().progress();
        for (std::size_t i = 1; i < sessions.size(); ++i) {
            const auto next = sessions[i]->job().progress();
            sum.files_done += next.files_done;
            sum.files_total += next.files_total;
            sum.bytes_done += next.bytes_done;
            sum.bytes_total += next.bytes_total;
            sum.totals_final = sum.totals_final && next.totals_final;
        }
        // The paths of several senders would not fit below one line.
        std::optional<ConnectionStats> stats;
        if (display_.with_paths() && sessions.size() == 1) {
            stats = sessions.front()->final_stats();
            sessions.front()->sample_stats();  // for the next time
        }
        display_.update(now - start_, sum, run_.command.to_stdout, stats);
    }

    void watch(Session& session, Instant now) {
        const auto& limit = run_.command.common.timeout;
        // Whoever reads our standard output may rest for as long as they like.
        const std::optional<Duration> patience = run_.command.to_stdout ? limit : limit.value_or(kDefaultPatience);
        session.watch(now, patience);
    }

    const RecvRun& run_;
    io::Driver& driver_;
    transfer::ReceiptWriter* receipt_;  // of --one-off
    ProgressDisplay display_;
    Instant start_ = io::monotonic_now();
    std::optional<Instant> deadline_;
    Interruption interruption_;
    FinalReport total_;
    std::optional<Instant> last_refusal_;  // protocol thread

    std::mutex mutex_;  // guards what follows
    bool closing_ = false;
    bool accepted_ = false;
    std::vector<std::shared_ptr<Session>> sessions_;
};

}  // namespace

void show(const RecvRun& run, const FinalReport& report, const std::string& peer) {
    const std::string from = peer.empty() ? std::string() : "from " + peer + ": ";
    show_report(run.log, report, {from, kFailed, run.command.common.verbose, false});
}

FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&)) {
    const RecvCommand& command = run.command;
    if (const auto checked = check_directory(command); !checked) return failure(command, checked.error());
    const auto credentials = receiver_credentials(command);
    if (!credentials) return failure(command, credentials.error());
    // What a receiver sends are acknowledgements: its cap is for what comes, and the sender keeps to it.
    TransportConfig config = command.common.transport();
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
    auto transport = Transport::make(*credentials, config);
    if (!transport) return failure(command, transport.error());
    io::Driver& driver = (*transport)->driver();
    if (const auto opened = open_socket(driver, command); !opened) return failure(command, opened.error());
    const auto local = driver.local_address();
    if (!local) return failure(command, local.error());
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.info(advice);

    const auto receipt = open_receipt(command.common.receipt_text);
    if (!receipt) return failure(command, receipt.error());
    Server server(run, driver, receipt->get());
    server.listen();
    (*transport)->start();
    run.log.info("listening on " + to_string(*local) + "/udp, writing to " +
                 (command.to_stdout ? "standard output" : command.directory));
    const bool wound_up = server.serve();
    FinalReport report = server.report();
    if (wound_up) (*transport)->stop(kDrainAtMost);
    if (!wound_up || report.code == ExitCode::interrupted) {
        if (*receipt) (*receipt)->discard();
        leave(run, report);
    }
    (*transport)->stop(kDrainAtMost);
    return report;
}

}  // namespace udtx::apps
