#include "serve/server.hpp"

#include <unistd.h>

#include <new>
#include <utility>

#include "common/descriptors.hpp"
#include "common/units.hpp"
#include "observe/receipt.hpp"
#include "serve/key_budget.hpp"
#include "serve/refusing_handler.hpp"
#include "serve/server_report.hpp"
#include "transfer/disk_pool.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// The endpoint lets in so many more: of those the budget says who is refused, or who gives way.
constexpr std::size_t kSpareConnections = 64;

}  // namespace

Server::Server(const RecvRun& run, Transport& transport, const AuthorizedKeys& keys, transfer::ReceiptWriter* receipt)
    : run_(run),
      transport_(transport),
      access_(run.command, keys, receipt),
      receipt_(receipt),
      display_(run.terminal,
               ProgressDisplay::choose(run.command.common.quiet, run.command.common.progress, run.terminal),
               DataEnd::receiver, run.command.common.verbose),
      start_(monotonic_now()) {}

Result<void> Server::observe(std::uint16_t port) {
    return observers_.start(
        port, [this] { return connections_.under_way(); },
        [this](const std::string& line) {
            if (run_.command.to_stdout) return run_.terminal.line(line);
            (void)write_all(STDOUT_FILENO, line + "\n");
        });
}

void Server::listen() {
    io::Driver& driver = transport_.driver();
    driver.listen(KeyBudget::kConnections + kSpareConnections,
                  [this](proto::Connection& connection) { return accept(connection); });
    driver.on_refused([this](const Address& remote, const proto::CloseReason& why) { refused(remote, why); });
}

bool Server::serve() {
    for (;;) {
        const auto signal = run_.signals.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        try {
            if (signal && !on_signal(*signal, now)) return false;
            if (look(now)) return true;
        } catch (const std::bad_alloc&) {
            // Others may soon give some back, and the next look begins anew.
        }
        if (end_.overdue(now)) return false;
    }
}

FinalReport Server::report() {
    refusals_.finish();
    const auto left = connections_.under_way();
    for (const auto& connection : left) total_.add(report_of(run_.command, *connection));
    if (end_.interrupted()) {
        total_.interrupted_by(end_.signal());
    } else if (end_.draining()) {
        total_.drained();
    }
    observers_.finish(monotonic_now() - start_, left, total_.get());
    return total_.get();
}

bool Server::look(Instant now) {
    reap();
    refusals_.look(now);
    transfer::relieve_disk_pools();
    const auto connections = connections_.under_way();
    KeyBudget::enforce(connections);
    const bool over = end_.ending() || (run_.command.one_off && total_.transfers() > 0);
    if (over && connections.empty() && may_leave()) return true;
    observers_.tick(now, now - start_, connections, transport_.thread_time());
    display(now, connections);
    // Whoever reads our standard output may rest for as long as they like.
    const std::optional<Duration>& limit = run_.command.common.timeout;
    const std::optional<Duration> patience = run_.command.to_stdout ? limit : limit.value_or(kDefaultPatience);
    for (const auto& connection : connections) connection->end_if_overdue(now, patience);
    return false;
}

std::shared_ptr<proto::ConnectionHandler> Server::accept(proto::Connection& connection) {
    const Visitor visitor = access_.visitor(connection.peer_key());
    const std::string who = to_string(connection.remote()) + visitor.name;
    const std::uint64_t owner = KeyBudget::owner(connection.remote(), visitor.key);
    auto admitted = connections_.admit(owner, [&] { return make_served(connection, visitor, who, owner); });
    if (admitted) return std::move(*admitted);
    observers_.refused();
    return std::make_shared<RefusingHandler>(admitted.error().code, admitted.error().message);
}

std::shared_ptr<ServedConnection> Server::make_served(proto::Connection& connection, const Visitor& visitor,
                                                      std::string who, std::uint64_t owner) {
    transfer::ServeOptions options;
    options.told = told_;
    options.push = [this, visitor, who] {
        auto allowed = access_.push(visitor);
        if (!allowed) note_refusal(who, allowed.error());
        return allowed;
    };
    options.pull = [this, visitor, who](const transfer::PullWish& wish) {
        auto allowed = access_.pull(visitor, wish);
        if (!allowed) note_refusal(who, allowed.error());
        return allowed;
    };
    auto served = ServedConnection::make(
        transport_.driver(), connection, who, owner, access_.place_of(visitor), std::move(options),
        [this] { run_.signals.wake(); }, visitor.rights == nullptr ? Rate::infinite() : visitor.rights->rate);
    run_.log.detail("serving " + who);
    return served;
}

void Server::note_refusal(const std::string& who, const Error& error) {
    if (error.code != ErrorCode::refused) return;
    refusals_.tell(monotonic_now(), "refused " + who + ": " + error.message);
}

void Server::refused(const Address& remote, const proto::CloseReason& why) {
    observers_.refused();
    const std::string line = "refused " + to_string(remote) + ": " + why.message;
    // A client that went away midway is no news.
    if (why.code == ErrorCode::internal) return refusals_.tell(monotonic_now(), line);
    if (why.code != ErrorCode::authentication) return run_.log.detail(line);
    refusals_.tell(monotonic_now(),
                   line + (run_.command.common.identity_text.empty() ? "; both ends need the same --psk-file"
                                                                     : "; see --authorized-keys"));
}

bool Server::on_signal(int signal, Instant now) {
    switch (end_.on_signal(signal, now)) {
        case ServerEnd::Wish::nothing:
            return true;
        case ServerEnd::Wish::leave:
            return false;
        case ServerEnd::Wish::drain:
            if (const auto in = connections_.close(); !in.empty()) {
                run_.log.info("SIGTERM: no new transfers; " + format_count(in.size()) +
                              " under way go on to their end, another SIGTERM ends them");
            }
            return true;
        case ServerEnd::Wish::wind_up:
            break;
    }
    for (const auto& connection : connections_.close()) {
        connection->abort(now, ErrorCode::interrupted,
                          std::string("interrupted by ") + signal_name(signal) +
                              (connection->sends() ? " at the sender" : " at the receiver"));
    }
    return true;
}

void Server::reap() {
    while (const auto connection = connections_.first_done()) {
        connections_.make_room_to_retire();
        const bool was_transfer = tell(*connection);
        connections_.retire(connection, was_transfer);
    }
    connections_.release_rested();
}

bool Server::tell(ServedConnection& connection) {
    if (connection.job().refused()) {
        observers_.refused();  // the log has it
        return false;
    }
    FinalReport report = report_of(run_.command, connection);
    display_.finish();
    if (connection.is_probe()) {
        run_.log.info(connection.peer() + " has measured the line to here");
        return false;
    }
    if (const auto* receiver = connection.job().receiver()) {
        finish_receipt(
            receipt_, [&](const std::string& path) { return receiver->open_delivered(path); }, report);
    }
    observers_.ended(connection, report);
    if (!run_.command.one_off) show(run_, report, connection.direction() + ": ", connection.fetched());
    total_.add(std::move(report));
    return true;
}

void Server::display(Instant now, const ConnectionTable::Connections& connections) {
    if (connections.empty()) return;
    transfer::Progress sum = connections.front()->job().progress();
    for (std::size_t i = 1; i < connections.size(); ++i) {
        const auto next = connections[i]->job().progress();
        sum.files_done += next.files_done;
        sum.files_total += next.files_total;
        sum.bytes_done += next.bytes_done;
        sum.bytes_total += next.bytes_total;
        sum.totals_final = sum.totals_final && next.totals_final;
    }
    // The paths of several senders would not fit below one line.
    std::optional<ConnectionStats> stats;
    if (display_.with_paths() && connections.size() == 1) stats = connections.front()->final_stats();
    display_.update(now - start_, sum, run_.command.to_stdout, stats);
}

}  // namespace udtx::apps
