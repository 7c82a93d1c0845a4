#include "serve/server_run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <new>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/observer.hpp"
#include "rendezvous/met_end.hpp"
#include "sandbox/sandbox.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

namespace {

/// The sender connects again if it has not ended itself.
bool was_lost(const transfer::ServedTransfer& transfer) {
    const Result<void> status = transfer.outcome().status;
    if (transfer.refused() || status) return false;
    return status.error().code == ErrorCode::network || status.error().code == ErrorCode::timeout;
}

/// A receiver's run as a server, from the first client until the last has left: logs the clients, and decides when the
/// run ends. Use it on one thread.
class ServerRun {
  public:
    /// Command and run must outlive it.
    ServerRun(const RecvCommand& command, const Run& run);
    ~ServerRun() { stop_observers(); }
    ServerRun(const ServerRun&) = delete;
    ServerRun& operator=(const ServerRun&) = delete;

    [[nodiscard]] FinalReport run();

  private:
    /// What this thread and those of the server show.
    struct Shown {
        Shown(const RecvCommand& command, const Run& run, const std::atomic<std::uint64_t>& refused)
            : display(run.terminal,
                      ProgressDisplay::choose(command.common.quiet, command.common.progress, run.terminal),
                      DataEnd::receiver, command.common.verbose),
              total(command),
              observers(command, run.log, refused) {}

        ProgressDisplay display;
        TotalReport total;
        ServerObservers observers;
        bool reported = false;
        std::optional<FinalReport> lost{};  ///< of a connection with a code that was lost, and may be made again
        Instant alone_since{};              ///< with a code: when the last connection ended
    };

    /// With a code: waits for the end that sends.
    [[nodiscard]] Result<void> meet();
    /// Opens the socket and the files, then enters the sandbox and starts the services and the server.
    [[nodiscard]] Result<void> start();
    /// Enters the sandbox, and logs its limits.
    [[nodiscard]] Result<Sandbox> confine(const SandboxPlaces& places) const;
    /// Runs until the one transfer has ended or a signal ends the server. False: running transfers must be abandoned.
    [[nodiscard]] bool serve();
    /// The report of the whole run: that of the one transfer, or the sum. Later ends of transfers are not reported.
    [[nodiscard]] FinalReport report();
    [[nodiscard]] transfer::ServerOptions options(const Credentials& credentials);
    /// Runs on the protocol thread.
    [[nodiscard]] Result<transfer::Admission> admit(const transfer::Client& client) const;
    /// Runs on the protocol thread.
    void connection_failed(const Address& from, const Error& why);
    /// Any thread.
    void log_file(const transfer::Client& client, const transfer::FileEvent& file) const;
    /// With a code: true if the other end has not come, or not come again, for too long.
    [[nodiscard]] bool waited_in_vain(Instant now);
    /// Runs on the server's thread.
    void ended(const transfer::ServedTransfer& transfer);
    /// False: the connection was not a transfer.
    bool tell(Shown& shown, const WatchedTransfer& watched);
    /// False: exit at once.
    bool on_signal(int signal, Instant now);
    /// Reads keys and rights again. If they cannot be used, the earlier ones stay.
    void reload();
    /// Tells the running transfers to end.
    void wind_up(ErrorCode code, const std::string& why);
    [[nodiscard]] bool over();
    void stop_observers() { const auto servers = shown_.lock()->observers.take_servers(); }
    void look(Instant now);
    void display(ProgressDisplay& display, Instant now, const TransferTable::Transfers& transfers) const;

    const RecvCommand& command_;
    const Run& run_;
    const Rate told_ = ServerObservers::first_cap(command_);
    const Instant start_;
    AuthorizedKeys keys_;
    Access access_;
    std::optional<transfer::ReceiptFile> receipt_;
    ServerEnd end_{command_.one_off, command_.longest_drain};
    RefusalLog refusals_{run_.log, command_.common.verbose};
    TransferTable table_;
    std::unique_ptr<MetEnd> met_;        // with a code
    std::atomic<bool> served_{false};    // one transfer was served to its end
    std::atomic<bool> stopping_{false};  // a signal stops the server

    std::atomic<std::uint64_t> refused_{0};  // clients
    Guarded<Shown> shown_;

    std::optional<transfer::Server> server_;  // destroyed first, because its threads use the members above
};

/// Time for the server to notice that a client whose end was reported has left.
constexpr std::chrono::milliseconds kMoment{10};

ServerRun::ServerRun(const RecvCommand& command, const Run& run)
    : command_(command),
      run_(run),
      start_(monotonic_now()),
      access_(command, keys_),
      table_(access_, run.log, told_, [this] { return server_->transfers(); }),
      shown_(command, run, refused_) {}

transfer::ServerOptions ServerRun::options(const Credentials& credentials) {
    const RecvCommand& command = command_;
    transfer::ServerOptions options{.listen = command.listen,
                                    .choice = command.common.addresses,
                                    .socket = UniqueFd(command.inherited_socket),
                                    .credentials = credentials};
    if (met_) options.socket.reset(::fcntl(met_->socket(), F_DUPFD_CLOEXEC, 0));
    options.connection = command.common.connection(command.common.transport());
    // A receiver sends only acknowledgements. Its cap applies to received data, and the sender obeys it.
    options.connection.transport.max_rate = Rate::infinite();
    options.connection.transport.max_receive_rate = told_;
    options.protocol_threads = command.protocol_threads;
    options.tcp_listen = command.tcp_listen;
    if (options.tcp_listen.empty()) options.tcp_listen = {kSamePort};
    std::erase(options.tcp_listen, "none");
    // The reader of standard output may pause for any time.
    if (command.streaming && !options.connection.patience) options.connection.patience = Duration::zero();

    options.admit = [this](const transfer::Client& client) { return admit(client); };
    options.push = [this](const transfer::Client& client) { return access_.push(client); };
    options.pull = [this](const transfer::Client& client, const transfer::Selection&) { return access_.pull(client); };
    options.connection_failed = [this](const Address& from, const Error& why) { connection_failed(from, why); };
    options.turned_away = [this](const transfer::Client& client, const Error& why) {
        ++refused_;
        refusals_.tell(monotonic_now(), "refused " + to_string(client.address) + ": " + why.message);
    };
    options.log = [this](LogLevel level, const std::string& text) {
        if (level == LogLevel::warning) run_.log.warn(text);
    };
    if (command.log_files) {
        options.file = [this](const transfer::Client& client, const transfer::FileEvent& file) {
            log_file(client, file);
        };
    }
    options.ended = [this](const transfer::ServedTransfer& transfer) { ended(transfer); };
    return options;
}

Result<void> ServerRun::meet() {
    const HostPort& where = command_.rendezvous.relay;
    const auto relay = resolve(where.host, where.port, command_.common.addresses);
    if (!relay) return relay.error();
    auto met = MetEnd::reach(*relay, *command_.code, run_.signals.descriptor());
    if (!met) return met.error();
    met_ = std::move(*met);
    shown_.lock()->alone_since = monotonic_now();
    return {};
}

Result<void> ServerRun::start() {
    const bool one_key = command_.authorized_keys.empty();
    if (!command_.streaming) {
        const auto checked = transfer::check_served(command_.directory, "", one_key);
        if (!checked) {
            return Error{checked.error().code, (command_.code ? "" : "--dir: ") + checked.error().message};
        }
    }
    if (command_.code) {
        if (const auto met = meet(); !met) return met;
    }
    const auto credentials =
        met_ ? Result<Credentials>(Credentials::from_psk(met_->key().bytes())) : receiver_credentials(command_, keys_);
    if (!credentials) return credentials.error();
    access_.set_keys(keys_);
    if (!one_key && keys_.all().empty()) {
        run_.log.warn("--authorized-keys: " + escape_for_terminal(command_.authorized_keys) +
                      " has no key, so every client is refused");
    }
    auto opened = transfer::Server::open(options(*credentials));
    if (!opened) return opened.error();
    server_.emplace(std::move(*opened));
    if (const std::string advice = server_->buffer_advice(); !advice.empty()) run_.log.info(advice);
    if (const std::size_t threads = server_->protocol_threads(); threads < command_.protocol_threads) {
        run_.log.warn("--protocol-threads " + std::to_string(command_.protocol_threads) + ": only " +
                      std::to_string(threads) + " serves, because the system does not let more sockets share the port" +
                      (command_.inherited_socket < 0 ? "" : " (fd:N of another user: give --listen a port instead)"));
    }
    auto receipt = open_receipt(command_.common);
    if (!receipt) return receipt.error();
    receipt_ = std::move(*receipt);
    access_.set_receipt(receipt_);
    if (const auto report = shown_.lock()->observers.open_report(); !report) return report;
    // Enter the sandbox before the first thread starts, because threads inherit its limits, and after everything
    // outside it is open.
    const SandboxPlaces places = places_of(command_, keys_);
    const auto sandbox = confine(places);
    if (!sandbox) return sandbox.error();
    const auto observed = shown_.lock()->observers.start(
        server_->local_address().port, [this] { return table_.under_way(); },
        JsonTicker::to_output(command_.streaming ? &run_.terminal : nullptr));
    if (!observed) return observed;
    if (const auto sealed = seal_sandbox(command_.sandbox, *sandbox); !sealed) return sealed;
    if (sandbox->confined) access_.note_places(places.trees);
    if (const auto started = server_->start(); !started) return started;
    if (met_) {
        if (const auto started = met_->start(); !started) return started;
        server_->add_channel(met_->channel());
        run_.log.detail("the other end was met, writing to " +
                        (command_.streaming ? "standard output" : command_.directory));
        return {};
    }
    std::string where = to_string(server_->local_address()) + "/udp";
    for (const std::uint16_t port : server_->tcp_ports()) where += ", TCP port " + std::to_string(port);
    run_.log.info("listening on " + where + ", writing to " +
                  (command_.streaming ? "standard output" : command_.directory));
    return {};
}

FinalReport ServerRun::run() {
    if (const auto started = start(); !started) return never_began(command_.common, started.error());
    const bool wound_up = serve();
    FinalReport report = this->report();
    if (wound_up) server_->stop();
    stop_observers();
    if (!wound_up || report.code == ExitCode::interrupted) {
        if (receipt_) receipt_->discard();
        run_.leave(report);
    }
    return report;
}

bool ServerRun::serve() {
    for (;;) {
        const auto signal = run_.signals.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        try {
            if (signal && !on_signal(*signal, now)) return false;
            if (end_.drained_too_long(now)) {
                run_.log.info("--drain " + format_elapsed(*command_.longest_drain) +
                              " is over: the running transfers end, and their clients connect again");
                wind_up(ErrorCode::going_away, "the server is being stopped");
            }
            if (over() || waited_in_vain(now)) return true;
            look(now);
        } catch (const std::bad_alloc&) {
            // Other threads may soon free memory, and the next turn tries again.
        }
        if (end_.overdue(now)) return false;
    }
}

FinalReport ServerRun::report() {
    refusals_.finish();
    const auto shown = shown_.lock();
    shown->reported = true;
    TotalReport& total = shown->total;
    const auto left = table_.under_way();
    for (const auto& watched : left) total.add(report_of(command_, *watched));
    if (met_ && !served_ && left.empty()) {
        if (shown->lost) total.add(std::move(*shown->lost));
        if (end_.stage() == ServerEnd::Stage::serving && total.transfers() == 0) {
            total.failed({ErrorCode::network, "the other end was met, but it did not connect"});
        }
    }
    if (end_.stage() == ServerEnd::Stage::interrupted) {
        total.interrupted_by(end_.signal());
    } else if (const auto status = server_->status(); !status) {
        total.failed(status.error());
    } else if (end_.winding_up() && !left.empty()) {
        total.interrupted_by(SIGTERM);
    } else if (end_.stage() != ServerEnd::Stage::serving) {
        total.drained();
    }
    shown->observers.finish(monotonic_now() - start_, left, total.get());
    return total.get();
}

bool ServerRun::waited_in_vain(Instant now) {
    if (!met_ || !server_->transfers().empty()) return false;
    const Duration patience = command_.common.timeout.value_or(transfer::kPatience);
    const Duration alone = now - shown_.lock()->alone_since;
    return alone >= (met_->over() ? std::min(patience, MetEnd::kWithoutRelay) : patience);
}

Result<transfer::Admission> ServerRun::admit(const transfer::Client& client) const {
    // A server that stops refuses clients itself, with its own message.
    const bool taken = command_.one_off && !stopping_ && (served_ || !server_->transfers().empty());
    if (taken) return Error{ErrorCode::refused, "the receiver serves one transfer only (--one-off)"};
    return transfer::Admission{.max_rate = access_.rate_of(client)};
}

void ServerRun::connection_failed(const Address& from, const Error& why) {
    ++refused_;
    const std::string line = "refused " + to_string(from) + ": " + why.message;
    // A client that went away during the handshake is not worth a line of its own.
    if (why.code == ErrorCode::internal) return refusals_.tell(monotonic_now(), line);
    if (why.code != ErrorCode::authentication) return run_.log.detail(line);
    refusals_.tell(monotonic_now(), line + (command_.common.identity.empty() ? "; both ends need the same --psk-file"
                                                                             : "; see --authorized-keys"));
}

void ServerRun::log_file(const transfer::Client& client, const transfer::FileEvent& file) const {
    using Result = transfer::FileEvent::Result;
    const std::string place = access_.place_of(client);
    const std::string path = place.empty() ? file.path : place + (place.ends_with('/') ? "" : "/") + file.path;
    const std::string peer = to_string(client.address);
    std::string name = access_.name_of(client);  // " (bob)"
    const bool sends = file.direction == transfer::FileEvent::Direction::send;
    const bool failed = file.result == Result::failed;
    const std::string word = failed ? "failed" : sends ? "sent" : "received";
    std::string line = peer + name + ": " + word +
                       (!failed ? ""
                        : sends ? " to send"
                                : " to receive") +
                       " '" + transfer::escape_name(path) + "'";
    Json json = Json::object({{"event", "file"}, {"result", word}, {"direction", sends ? "send" : "receive"}});
    json.add_bytes("path", path).add({{"peer", peer}});
    if (client.key) {
        json.add({{"key", client.key->to_string()}, {"key_name", name.substr(2, name.size() - 3)}});
    }
    if (failed) {
        line += ": " + transfer::escape_line(file.reason);
        json.add({{"reason", file.reason}});
    } else {
        line += ", " + counted(file.bytes, "byte");
        json.add({{"bytes", file.bytes}});
    }
    run_.log.event(line, json.members());
}

void ServerRun::ended(const transfer::ServedTransfer& transfer) {
    const auto shown = shown_.lock();
    if (shown->reported) return;
    const auto watched = table_.find(transfer);
    if (met_) shown->alone_since = monotonic_now();
    if (met_ && was_lost(transfer)) {
        shown->lost = report_of(command_, *watched);
        run_.log.warn("the connection is lost; waiting for the other end");
    } else if (tell(*shown, *watched)) {
        served_ = true;
    }
    watched->set_told();
    run_.signals.wake();
}

bool ServerRun::tell(Shown& shown, const WatchedTransfer& watched) {
    const transfer::ServedTransfer& transfer = watched.transfer();
    if (transfer.refused()) {
        ++refused_;
        refusals_.tell(monotonic_now(), "refused " + watched.who() + ": " + transfer.outcome().status.error().message);
        return false;
    }
    FinalReport report = report_of(command_, watched);
    shown.display.finish();
    const auto& job = report.outcome.job;  // exactly one shard is the last
    if (job && job->done == job->count && report.progress.job) run_.log.info(job_line(*report.progress.job));
    if (transfer.kind() == transfer::ServedTransfer::Kind::measure) {
        run_.log.info(watched.peer() + " has measured the path to this host");
        return false;
    }
    shown.observers.ended(watched, report);
    if (!command_.one_off) show(command_, run_, report, watched.direction() + ": ", watched.fetched());
    shown.total.add(std::move(report));
    return true;
}

bool ServerRun::on_signal(int signal, Instant now) {
    switch (end_.on_signal(signal, now)) {
        case ServerEnd::Wish::nothing:
            return true;
        case ServerEnd::Wish::repeated:
            run_.log.info(repeated_signal(signal));
            return true;
        case ServerEnd::Wish::reload:
            reload();
            return true;
        case ServerEnd::Wish::leave:
            return false;
        case ServerEnd::Wish::drain:
            stopping_ = true;
            server_->drain();
            if (const auto in = server_->transfers(); !in.empty()) {
                run_.log.info("SIGTERM: no new transfers; " + format_count(in.size()) +
                              (in.size() == 1 ? " running one continues" : " running ones continue") +
                              ", another SIGTERM ends " + (in.size() == 1 ? "it" : "them"));
            }
            return true;
        case ServerEnd::Wish::wind_up:
            break;
    }
    // The clients of a server that stops or restarts connect again.
    if (signal == SIGTERM && !command_.one_off) {
        wind_up(ErrorCode::going_away, "the server is being stopped");
    } else {
        wind_up(ErrorCode::interrupted, interrupted_by(signal));
    }
    return true;
}

void ServerRun::wind_up(ErrorCode code, const std::string& why) {
    stopping_ = true;
    server_->drain();
    for (const transfer::ServedTransfer& transfer : server_->transfers()) {
        const char* const end = transfer.sends() ? " at the sender" : " at the receiver";
        transfer.cancel(code, code == ErrorCode::interrupted ? why + end : why);
    }
}

void ServerRun::reload() {
    AuthorizedKeys keys;
    const auto credentials = receiver_credentials(command_, keys);
    Result<void> taken;
    if (credentials) {
        // First the rights, so that no new key is without them.
        access_.set_keys(keys);
        taken = server_->set_credentials(*credentials);
        if (!taken) access_.set_keys(keys_);
    } else {
        taken = credentials.error();
    }
    if (!taken) {
        return run_.log.warn("SIGHUP: the keys cannot be read again, and the earlier ones stay valid: " +
                             taken.error().message);
    }
    const AuthorizedKeys before = std::exchange(keys_, std::move(keys));
    if (command_.authorized_keys.empty()) return run_.log.info("SIGHUP: the key was read again");
    std::size_t added = 0;
    for (const auto& [key, rights] : keys_.all()) {
        if (before.find(key) == nullptr) ++added;
        if (!rights.write) continue;
        const std::string place = directory_of(command_, rights);
        if (const auto good = access_.check_place(place); !good) run_.log.warn(place + ": " + good.error().message);
    }
    const std::size_t removed = before.all().size() + added - keys_.all().size();
    run_.log.info("SIGHUP: " + counted(keys_.all().size(), "key") + " in " + command_.authorized_keys + ", " +
                  format_count(added) + " added, " + format_count(removed) + " removed");
}

bool ServerRun::over() {
    const bool ends = end_.stage() != ServerEnd::Stage::serving || !server_->status() || (command_.one_off && served_);
    if (!ends) return false;
    server_->drain();
    // After a signal, the process ends even if a disk call hangs, and in an orderly way if all transfers have ended.
    return server_->wait(kMoment) || (end_.winding_up() && server_->transfers().empty());
}

void ServerRun::look(Instant now) {
    const auto shown = shown_.lock();
    refusals_.look(now);
    const auto transfers = table_.under_way();
    shown->observers.tick(now, now - start_, transfers, server_->protocol_time());
    display(shown->display, now, transfers);
}

void ServerRun::display(ProgressDisplay& display, Instant now, const TransferTable::Transfers& transfers) const {
    if (transfers.empty()) return;
    transfer::Progress sum = transfers.front()->transfer().progress();
    for (std::size_t i = 1; i < transfers.size(); ++i) accumulate(sum, transfers[i]->transfer().progress());
    // The paths of several senders would not fit below one line.
    std::optional<ConnectionStats> stats;
    if (display.with_paths() && transfers.size() == 1) stats = transfers.front()->transfer().stats();
    display.update(now - start_, sum, command_.streaming, stats);
}

Result<Sandbox> ServerRun::confine(const SandboxPlaces& places) const {
    auto sandbox = enter_sandbox(command_.sandbox, places);
    if (!sandbox) return sandbox;
    sandbox->failed ? run_.log.warn(sandbox->line) : run_.log.detail(sandbox->line);
    for (const PlaceLeftOut& place : sandbox->left_out) {
        const std::string line = "the sandbox forbids writing to " + place.path + ": " + place.why;
        // The directory existed a moment ago, so its loss is an error. A missing directory of a key affects only that
        // key.
        if (place.path == command_.directory) return Error{ErrorCode::file_io, line};
        run_.log.warn(line);
    }
    return sandbox;
}

}  // namespace

FinalReport run_receiver(const RecvCommand& command, const Run& run) { return ServerRun(command, run).run(); }

}  // namespace udtx::apps
