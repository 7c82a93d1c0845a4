#include "udtx-recv/server.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "common/descriptors.hpp"
#include "common/transport.hpp"
#include "common/units.hpp"
#include "control/transfer_card.hpp"
#include "io/monotonic_clock.hpp"
#include "observe/progress_display.hpp"
#include "options/begin.hpp"
#include "report/receipt.hpp"
#include "sandbox/sandbox.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/names.hpp"
#include "udtx-recv/authorized_keys.hpp"
#include "udtx-recv/key_budget.hpp"
#include "udtx-recv/refusal_log.hpp"
#include "udtx-recv/server_report.hpp"
#include "udtx-recv/server_watch.hpp"
#include "udtx-recv/session.hpp"
#include "udtx-recv/setup.hpp"

namespace udtx::apps {
namespace {

/// After a signal: so long our own disk has to take what is complete and to lose what is not.
constexpr Duration kInterruptGrace = std::chrono::seconds(5);
constexpr Duration kDefaultPatience = std::chrono::minutes(10);
/// The endpoint lets in so many more: of those the budget says who is refused, or who gives way.
constexpr std::size_t kSpareConnections = 64;
class Server {
  public:
    Server(const RecvRun& run, Transport& transport, const AuthorizedKeys& keys, transfer::ReceiptWriter* receipt)
        : run_(run),
          transport_(transport),
          driver_(transport.driver()),
          keys_(keys),
          receipt_(receipt),
          display_(run.terminal,
                   ProgressDisplay::choose(run.command.common.quiet, run.command.common.progress, run.terminal),
                   DataEnd::receiver, run.command.common.verbose) {
        total_.congestion = run.command.common.congestion;
        total_.streams = run.command.common.streams;
        total_.transfers = 0;
        for (const auto& [key, rights] : keys.all()) {
            if (rights.quota > 0) quotas_.emplace(&rights, std::make_shared<transfer::DiskQuota>(rights.quota));
        }
    }

    /// What the sandbox lets be written.
    void note_places(const std::vector<std::string>& directories) { places_.note(directories); }
    Result<void> open_report() { return watch_.open_report(); }
    Result<void> watch(std::uint16_t port) {
        return watch_.start(
            port, [this] { return current(); },
            [this](const std::string& line) {
                if (run_.command.to_stdout) return run_.terminal.line(line);
                (void)write_all(STDOUT_FILENO, line + "\n");
            });
    }
    void stop_watching() { watch_.stop(); }
    void listen() {
        driver_.listen(KeyBudget::kConnections + kSpareConnections,
                       [this](proto::Connection& connection) { return accept(connection); });
        driver_.on_refused([this](const Address& remote, const proto::CloseReason& why) { refused(remote, why); });
    }

    /// Until the one transfer is over or a signal came. False when transfers had to be left behind.
    [[nodiscard]] bool serve() {
        for (;;) {
            const auto signal = run_.signals.wait(std::chrono::milliseconds(100));
            const Instant now = io::monotonic_now();
            try {
                if (signal && !interrupt(*signal, now)) return false;
                if (look(now)) return true;
            } catch (const std::bad_alloc&) {
                // Others may soon give some back, and the next look begins anew.
            }
            if (deadline_ && now >= *deadline_) return false;
        }
    }

    /// Of the whole run: the one transfer's, or the sum.
    [[nodiscard]] FinalReport report() {
        refusals_.finish();
        for (const auto& session : current()) add(report_of(run_.command, *session));
        if (const int signal = interruption_.signal(); signal != 0) {
            total_.code = ExitCode::interrupted;
            close_books(total_);
            total_.error = std::string("interrupted by ") + signal_name(signal) + ": " + describe_interruption();
        } else if (draining_since_) {
            total_.code = ExitCode::ok;  // each transfer had its own
            total_.error.clear();
        }
        watch_.finish(io::monotonic_now() - start_, current(), total_);
        return total_;
    }

  private:
    /// True: all is over.
    bool look(Instant now) {
        reap();
        refusals_.look(now);
        transfer::relieve_disk_pools();
        const auto sessions = current();
        KeyBudget::enforce(sessions);
        const bool ending = interruption_.signal() != 0 || draining_since_;
        const bool over = ending || (run_.command.one_off && total_.transfers > 0);
        if (over && sessions.empty() && may_leave()) return true;
        watch_.tick(now, now - start_, sessions, transport_.thread_time());
        display(now, sessions);
        for (const auto& session : sessions) watch(*session, now);
        return false;
    }

    std::shared_ptr<proto::ConnectionHandler> accept(proto::Connection& connection) {
        const std::lock_guard lock(mutex_);
        if (closing_) {
            watch_.refused();
            return std::make_shared<RefusingHandler>(ErrorCode::interrupted, "the receiver is being stopped");
        }
        if (run_.command.one_off && accepted_) {
            watch_.refused();
            return std::make_shared<RefusingHandler>(ErrorCode::refused,
                                                     "the receiver serves one transfer only (--one-off)");
        }
        const KeyRights* const rights = keys_.find(connection.peer_key());
        transfer::ServeOptions options;
        options.told = told_;
        const std::string who = to_string(connection.remote()) + name_of(connection, rights);
        const std::uint64_t whose = rights == nullptr ? 0 : number_of(connection.peer_key());
        const std::uint64_t owner = KeyBudget::owner(connection.remote(), whose);
        if (const auto admitted = KeyBudget::admit(sessions_, owner); !admitted) {
            watch_.refused();
            return std::make_shared<RefusingHandler>(admitted.error().code, admitted.error().message);
        }
        options.push = [this, rights, who, whose] { return told(who, take_push(rights, whose)); };
        options.pull = [this, rights, who](const transfer::PullWish& wish) {
            return told(who, find_sources(rights, wish));
        };
        auto session = Session::make(
            driver_, connection, who, owner, place_of(rights), std::move(options), [this] { run_.signals.wake(); },
            rights == nullptr ? Rate::infinite() : rights->rate);
        run_.log.detail("serving " + who);
        sessions_.push_back(session);  // the last that can fail: a session in the list has its connection
        accepted_ = true;
        return session;
    }

    static std::uint64_t number_of(std::span<const std::byte> key) {
        return transfer::path_key({reinterpret_cast<const char*>(key.data()), key.size()});
    }

    /// The key's comment, or where it has none the key itself.
    static std::string name_of(const proto::Connection& connection, const KeyRights* rights) {
        if (rights == nullptr) return {};
        if (!rights->name.empty()) return " (" + rights->name + ")";
        PublicKey key;
        std::copy_n(connection.peer_key().begin(), key.bytes.size(), key.bytes.begin());
        return " (" + key.to_string() + ")";
    }

    /// Where whoever has these rights is at work, for whoever lists it.
    [[nodiscard]] std::string place_of(const KeyRights* rights) const {
        if (run_.command.to_stdout) return {};
        return seen_from_elsewhere(rights == nullptr ? run_.command.directory : directory_of(run_.command, *rights));
    }

    /// Says whose wish was refused.
    template <class Answer>
    Answer told(const std::string& who, Answer answer) {
        if (!answer && answer.error().code == ErrorCode::refused) {
            refusals_.tell(io::monotonic_now(), "refused " + who + ": " + answer.error().message);
        }
        return answer;
    }

    Result<transfer::ReceiveOptions> take_push(const KeyRights* rights, std::uint64_t whose) const {
        if (rights != nullptr && !rights->write) {
            return Error{ErrorCode::refused, "this key may not write here: it lacks the right 'write'"};
        }
        transfer::ReceiveOptions options;
        options.directory = run_.command.directory;
        if (rights != nullptr) options.below = rights->directory;
        const std::string place = rights == nullptr ? options.directory : directory_of(run_.command, *rights);
        if (const auto same = places_.check(place); !same) return same.error();
        options.resume = !run_.command.common.no_resume;
        options.to_stream = run_.command.to_stdout;
        options.receipt = receipt_;
        options.allow_erase = run_.command.allow_delete;
        options.allow_set_id = run_.command.allow_set_id;
        options.keep_base = true;
        options.room.min_free = run_.command.min_free;
        if (const auto quota = quotas_.find(rights); quota != quotas_.end()) options.room.quota = quota->second;
        options.whose = whose;
        options.overwrite = run_.command.overwrite;
        return options;
    }

    Result<transfer::ConfinedSources> find_sources(const KeyRights* rights, const transfer::PullWish& wish) const {
        if (rights != nullptr && !rights->read) {
            return Error{ErrorCode::refused, "this key may not read here: it lacks the right 'read'"};
        }
        if (rights == nullptr && !run_.command.allow_read) {
            return Error{ErrorCode::refused, "nothing is fetched from here: the server has to run with --allow-read"};
        }
        if (run_.command.to_stdout) return Error{ErrorCode::refused, "this receiver has no directory to fetch from"};
        const auto base =
            transfer::ConfinedDir::open_below(run_.command.directory, rights == nullptr ? "" : rights->directory);
        if (!base) return base.error();
        return transfer::open_sources_below(*base, wish.what.sources, wish.stream);
    }

    [[nodiscard]] std::vector<std::shared_ptr<Session>> current() {
        const std::lock_guard lock(mutex_);
        return sessions_;
    }

    /// A handshake that failed at our end; protocol thread.
    void refused(const Address& remote, const proto::CloseReason& why) {
        watch_.refused();
        const std::string line = "refused " + to_string(remote) + ": " + why.message;
        // A client that went away midway is no news.
        if (why.code == ErrorCode::internal) return refusals_.tell(io::monotonic_now(), line);
        if (why.code != ErrorCode::authentication) return run_.log.detail(line);
        refusals_.tell(io::monotonic_now(),
                       line + (run_.command.common.identity_text.empty() ? "; both ends need the same --psk-file"
                                                                         : "; see --authorized-keys"));
    }

    /// False: leave at once.
    bool interrupt(int signal, Instant now) {
        if (signal == SIGTERM && !run_.command.one_off && drain(now)) return true;
        const auto wish = interruption_.on_signal(signal, now);
        if (wish != Interruption::Wish::wind_up) return wish == Interruption::Wish::nothing;
        deadline_ = now + kInterruptGrace;
        const std::lock_guard lock(mutex_);
        closing_ = true;
        for (const auto& session : sessions_) {
            session->abort(now, ErrorCode::interrupted,
                           std::string("interrupted by ") + signal_name(signal) +
                               (session->sends() ? " at the sender" : " at the receiver"));
        }
        return true;
    }

    /// The first TERM: nobody is let in any more, and who is in goes on to the end. True when that is all it asks for.
    bool drain(Instant now) {
        if (interruption_.signal() != 0) return false;
        if (draining_since_) return now - *draining_since_ < Interruption::kOneGesture;
        draining_since_ = now;
        const std::lock_guard lock(mutex_);
        closing_ = true;
        if (!sessions_.empty()) {
            run_.log.info("SIGTERM: no new transfers; " + format_count(sessions_.size()) +
                          " under way go on to their end, another SIGTERM ends them");
        }
        return true;
    }

    /// What is over is told and counted; without memory for that it stays, and is told again.
    void reap() {
        while (const auto session = first_done()) {
            leaving_.reserve(leaving_.size() + 1);
            const bool transfer = tell(*session);
            // Whoever lets go of a sending job waits for its disk: not the protocol thread, and not before its disk
            // calls have ended.
            leaving_.push_back(session);
            const std::lock_guard lock(mutex_);
            std::erase(sessions_, session);
            // A receiver of one transfer goes on waiting for it.
            if (!transfer) accepted_ = !sessions_.empty();
        }
        std::erase_if(leaving_,
                      [](const auto& session) { return session.use_count() == 1 && session->job().at_rest(); });
    }

    [[nodiscard]] std::shared_ptr<Session> first_done() {
        const std::lock_guard lock(mutex_);
        const auto found =
            std::find_if(sessions_.begin(), sessions_.end(), [](const auto& session) { return session->done(); });
        return found == sessions_.end() ? nullptr : *found;
    }

    /// False: it was no transfer.
    bool tell(Session& session) {
        if (session.job().refused()) {
            watch_.refused();  // the log has it
            return false;
        }
        FinalReport report = report_of(run_.command, session);
        display_.finish();
        if (session.is_probe()) {
            run_.log.info(session.peer() + " has measured the line to here");
            return false;
        }
        if (const auto* receiver = session.job().receiver()) {
            finish_receipt(
                receipt_, [&](const std::string& path) { return receiver->open_delivered(path); }, report);
        }
        watch_.ended(session, report);
        if (!run_.command.one_off) show(run_, report, session.direction() + ": ", session.fetched());
        add(std::move(report));
        return true;
    }

    /// After a signal the process ends whatever a disk does; in good order when all have ended.
    [[nodiscard]] bool may_leave() const {
        const auto rests = [](const auto& session) { return session->job().at_rest(); };
        return interruption_.signal() != 0 || std::all_of(leaving_.begin(), leaving_.end(), rests);
    }

    void add(FinalReport report) {
        if (total_.transfers++ == 0) {
            total_.outcome = std::move(report.outcome);
            total_.progress = report.progress;
            total_.elapsed = report.elapsed;
            total_.stats = std::move(report.stats);
            total_.receives = report.receives;
            total_.code = report.code;
            total_.error = std::move(report.error);
            return;
        }
        accumulate(total_.outcome, report.outcome);
        total_.progress.files_total += report.progress.files_total;
        total_.progress.files_done += report.progress.files_done;
        total_.progress.totals_final = total_.progress.totals_final && report.progress.totals_final;
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
        if (display_.with_paths() && sessions.size() == 1) stats = sessions.front()->final_stats();
        display_.update(now - start_, sum, run_.command.to_stdout, stats);
    }

    void watch(Session& session, Instant now) {
        const auto& limit = run_.command.common.timeout;
        // Whoever reads our standard output may rest for as long as they like.
        const std::optional<Duration> patience = run_.command.to_stdout ? limit : limit.value_or(kDefaultPatience);
        session.watch(now, patience);
    }

    const RecvRun& run_;
    Transport& transport_;
    io::Driver& driver_;
    const AuthorizedKeys& keys_;
    std::map<const KeyRights*, std::shared_ptr<transfer::DiskQuota>> quotas_;  // all transfers of a key share one
    transfer::ReceiptWriter* receipt_;                                         // of --one-off
    KnownPlaces places_;
    const Rate told_ = ServerWatch::first_cap(run_.command);
    ProgressDisplay display_;
    Instant start_ = io::monotonic_now();
    std::optional<Instant> deadline_;
    std::optional<Instant> draining_since_;
    Interruption interruption_;
    FinalReport total_;
    RefusalLog refusals_{run_.log, run_.command.common.verbose};

    std::mutex mutex_;  // guards what follows
    bool closing_ = false;
    bool accepted_ = false;
    std::vector<std::shared_ptr<Session>> sessions_;

    std::vector<std::shared_ptr<Session>> leaving_;  // over, and perhaps still held by the driver, or in a disk call

    ServerWatch watch_{run_.command, run_.log};  // goes first: its threads ask for what is above
};

}  // namespace

FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&)) {
    const RecvCommand& command = run.command;
    if (const auto checked =
            command.to_stdout ? Result<void>() : check_directory(command.directory, command.authorized_keys.empty());
        !checked) {
        return never_began(command.common, {checked.error().code, "--dir: " + checked.error().message});
    }
    AuthorizedKeys keys;
    const auto credentials = receiver_credentials(command, keys);
    if (!credentials) return never_began(command.common, credentials.error());
    // What a receiver sends are acknowledgements: its cap is for what comes, and the sender keeps to it.
    TransportConfig config = command.common.transport();
    config.max_rate = Rate::infinite();
    config.max_receive_rate = ServerWatch::first_cap(command);
    io::Driver::Options driver_options = command.common.driver();
    driver_options.socket.inherited = command.inherited_socket;
    auto transport = Transport::make(*credentials, config, driver_options);
    if (!transport) return never_began(command.common, transport.error());
    io::Driver& driver = (*transport)->driver();
    if (const auto opened = open_socket(driver, command); !opened) return never_began(command.common, opened.error());
    const auto local = driver.local_address();
    if (!local) return never_began(command.common, local.error());
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.info(advice);

    const auto receipt = open_receipt(command.common.receipt_text);
    if (!receipt) return never_began(command.common, receipt.error());
    Server server(run, **transport, keys, receipt->get());
    if (const auto opened = server.open_report(); !opened) return never_began(command.common, opened.error());
    // Before the first thread, since each hands its own limits on; after all that is opened elsewhere.
    const SandboxPlaces places = places_of(command, keys);
    const auto sandbox = enter_sandbox(command.sandbox, places);
    if (!sandbox) return never_began(command.common, sandbox.error());
    sandbox->failed ? run.log.warn(sandbox->line) : run.log.detail(sandbox->line);
    for (const PlaceLeftOut& place : sandbox->left_out) {
        const std::string line = "the sandbox forbids to write " + place.path + ": " + place.why;
        // It was there a moment ago. Of the keys' directories one that is missing concerns its key only.
        if (place.path == command.directory) return never_began(command.common, {ErrorCode::file_io, line});
        run.log.warn(line);
    }
    if (const auto watched = server.watch(local->port); !watched) return never_began(command.common, watched.error());
    if (const auto sealed = seal_sandbox(command.sandbox, *sandbox); !sealed) {
        server.stop_watching();
        return never_began(command.common, sealed.error());
    }
    if (sandbox->confined) server.note_places(places.trees);
    server.listen();
    (*transport)->start();
    // Last, since they take what is left of a limit. Who comes before finds them at work, or finds none.
    if (const auto started = transfer::start_disk_pools(); !started) {
        (*transport)->stop(Duration::zero());
        server.stop_watching();
        return never_began(command.common, started.error());
    }
    run.log.info("listening on " + to_string(*local) + "/udp, writing to " +
                 (command.to_stdout ? "standard output" : command.directory));
    const bool wound_up = server.serve();
    FinalReport report = server.report();
    if (wound_up) (*transport)->stop(kDrainAtMost);
    server.stop_watching();
    if (!wound_up || report.code == ExitCode::interrupted) {
        if (*receipt) (*receipt)->discard();
        leave(run, report);
    }
    (*transport)->stop(kDrainAtMost);
    return report;
}

}  // namespace udtx::apps
