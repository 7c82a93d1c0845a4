#include "serve/server_run.hpp"

#include <unistd.h>

#include <new>
#include <utility>

#include "common/descriptors.hpp"
#include "common/units.hpp"
#include "observe/job_view.hpp"
#include "observe/receipt.hpp"
#include "serve/server_report.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// Time for the server to notice that a client whose end was reported has left.
constexpr std::chrono::milliseconds kMoment{10};

}  // namespace

ServerRun::ServerRun(const RecvRun& run, const AuthorizedKeys& keys)
    : run_(run),
      start_(monotonic_now()),
      access_(run.command, keys),
      table_(access_, run.log, told_, [this] { return server_->transfers(); }),
      display_(run.terminal,
               ProgressDisplay::choose(run.command.common.quiet, run.command.common.progress, run.terminal),
               DataEnd::receiver, run.command.common.verbose) {}

transfer::ServerOptions ServerRun::options(const Credentials& credentials) {
    const RecvCommand& command = run_.command;
    transfer::ServerOptions options{.listen = command.listen_text,
                                    .choice = command.common.addresses,
                                    .socket = UniqueFd(command.inherited_socket),
                                    .credentials = credentials};
    options.link = command.common.link(command.common.transport());
    // A receiver sends only acknowledgements. Its cap applies to received data, and the sender obeys it.
    options.link.transport.max_rate = Rate::infinite();
    options.link.transport.max_receive_rate = told_;
    options.protocol_threads = command.protocol_threads;
    // The reader of standard output may pause for any time.
    if (command.to_stdout && !options.link.patience) options.link.patience = Duration::zero();

    options.admit = [this](const transfer::Client& client) { return admit(client); };
    options.push = [this](const transfer::Client& client) { return access_.push(client); };
    options.pull = [this](const transfer::Client& client, const transfer::Selection&) { return access_.pull(client); };
    options.connection_failed = [this](const Address& from, const Error& why) { connection_failed(from, why); };
    options.turned_away = [this](const transfer::Client&, const Error&) { observers_.refused(); };
    options.ended = [this](const transfer::ServedTransfer& transfer) { ended(transfer); };
    return options;
}

Result<void> ServerRun::open(const Credentials& credentials) {
    auto opened = transfer::Server::open(options(credentials));
    if (!opened) return opened.error();
    server_.emplace(std::move(*opened));
    return {};
}

Result<void> ServerRun::open_files() {
    auto receipt = open_receipt(run_.command.common);
    if (!receipt) return receipt.error();
    receipt_ = std::move(*receipt);
    access_.set_receipt(receipt_);
    return observers_.open_report();
}

void ServerRun::discard_receipt() const noexcept {
    if (receipt_) receipt_->discard();
}

Result<void> ServerRun::observe() {
    return observers_.start(
        server_->local_address().port, [this] { return table_.under_way(); },
        [this](const std::string& line) {
            if (run_.command.to_stdout) return run_.terminal.line(line);
            (void)write_all(STDOUT_FILENO, line + "\n");
        });
}

bool ServerRun::serve() {
    for (;;) {
        const auto signal = run_.signals.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        try {
            if (signal && !on_signal(*signal, now)) return false;
            if (over()) return true;
            look(now);
        } catch (const std::bad_alloc&) {
            // Other threads may soon free memory, and the next turn tries again.
        }
        if (end_.overdue(now)) return false;
    }
}

FinalReport ServerRun::report() {
    refusals_.finish();
    const std::lock_guard lock(mutex_);
    reported_ = true;
    const auto left = table_.under_way();
    for (const auto& watched : left) total_.add(report_of(run_.command, *watched));
    if (end_.interrupted()) {
        total_.interrupted_by(end_.signal());
    } else if (end_.draining()) {
        total_.drained();
    }
    observers_.finish(monotonic_now() - start_, left, total_.get());
    return total_.get();
}

Result<transfer::Admission> ServerRun::admit(const transfer::Client& client) const {
    // A server that stops refuses clients itself, with its own message.
    const bool taken = run_.command.one_off && !stopping_ && (served_ || !server_->transfers().empty());
    if (taken) return Error{ErrorCode::refused, "the receiver serves one transfer only (--one-off)"};
    return transfer::Admission{.max_rate = access_.rate_of(client)};
}

void ServerRun::connection_failed(const Address& from, const Error& why) {
    observers_.refused();
    const std::string line = "refused " + to_string(from) + ": " + why.message;
    // A client that went away during the handshake is not worth a line of its own.
    if (why.code == ErrorCode::internal) return refusals_.tell(monotonic_now(), line);
    if (why.code != ErrorCode::authentication) return run_.log.detail(line);
    refusals_.tell(monotonic_now(),
                   line + (run_.command.common.identity_text.empty() ? "; both ends need the same --psk-file"
                                                                     : "; see --authorized-keys"));
}

void ServerRun::ended(const transfer::ServedTransfer& transfer) {
    const std::lock_guard lock(mutex_);
    if (reported_) return;
    const auto watched = table_.find(transfer);
    if (tell(*watched)) served_ = true;
    watched->set_told();
    run_.signals.wake();
}

bool ServerRun::tell(const WatchedTransfer& watched) {
    const transfer::ServedTransfer& transfer = watched.transfer();
    if (transfer.refused()) {
        observers_.refused();
        refusals_.tell(monotonic_now(), "refused " + watched.who() + ": " + transfer.outcome().status.error().message);
        return false;
    }
    FinalReport report = report_of(run_.command, watched);
    display_.finish();
    const auto& job = report.progress.job;
    if (job && job->done == job->count) run_.log.info(job_line(*job));
    if (transfer.kind() == transfer::ServedTransfer::Kind::measure) {
        run_.log.info(watched.peer() + " has measured the path to this host");
        return false;
    }
    observers_.ended(watched, report);
    if (!run_.command.one_off) show(run_, report, watched.direction() + ": ", watched.fetched());
    total_.add(std::move(report));
    return true;
}

bool ServerRun::on_signal(int signal, Instant now) {
    switch (end_.on_signal(signal, now)) {
        case ServerEnd::Wish::nothing:
            return true;
        case ServerEnd::Wish::leave:
            return false;
        case ServerEnd::Wish::drain:
            stopping_ = true;
            server_->drain();
            if (const auto in = server_->transfers(); !in.empty()) {
                run_.log.info("SIGTERM: no new transfers; " + format_count(in.size()) +
                              " running ones continue, another SIGTERM ends them");
            }
            return true;
        case ServerEnd::Wish::wind_up:
            break;
    }
    stopping_ = true;
    server_->drain();
    for (const transfer::ServedTransfer& transfer : server_->transfers()) {
        transfer.cancel(ErrorCode::interrupted, std::string("interrupted by ") + signal_name(signal) +
                                                    (transfer.sends() ? " at the sender" : " at the receiver"));
    }
    return true;
}

bool ServerRun::over() {
    if (!end_.ending() && !(run_.command.one_off && served_)) return false;
    server_->drain();
    // After a signal, the process ends even if a disk call hangs, and in an orderly way if all transfers have ended.
    return server_->wait(kMoment) || (end_.interrupted() && server_->transfers().empty());
}

void ServerRun::look(Instant now) {
    const std::lock_guard lock(mutex_);
    refusals_.look(now);
    const auto transfers = table_.under_way();
    observers_.tick(now, now - start_, transfers, server_->protocol_time());
    display(now, transfers);
}

void ServerRun::display(Instant now, const TransferTable::Transfers& transfers) {
    if (transfers.empty()) return;
    transfer::Progress sum = transfers.front()->transfer().progress();
    for (std::size_t i = 1; i < transfers.size(); ++i) {
        const auto next = transfers[i]->transfer().progress();
        sum.files_done += next.files_done;
        sum.files_total += next.files_total;
        sum.bytes_done += next.bytes_done;
        sum.bytes_total += next.bytes_total;
        sum.totals_final = sum.totals_final && next.totals_final;
    }
    // The paths of several senders would not fit below one line.
    std::optional<ConnectionStats> stats;
    if (display_.with_paths() && transfers.size() == 1) stats = transfers.front()->transfer().stats();
    display_.update(now - start_, sum, run_.command.to_stdout, stats);
}

}  // namespace udtx::apps
