#include "soak/episode.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "soak/end.hpp"
#include "soak/watch.hpp"
#include "soak/work.hpp"
#include "soak/world.hpp"

namespace udtx::soak {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kReconnectAfter = seconds(1);
constexpr Duration kOpenPathAgain = seconds(2);
constexpr Duration kDrain = seconds(60);  // time to close, with repeated packets, over the slowest lines

/// One run of a plan: hosts start, connect, are killed and start again, while the rules are checked.
class Episode {
  public:
    explicit Episode(const Plan& plan)
        : plan_(plan), world_(plan), work_(plan.tasks, world_.scenario().events()), watch_(world_, work_, plan) {}

    Outcome run();

  private:
    [[nodiscard]] sim::Scenario& s() noexcept { return world_.scenario(); }
    void script();
    void begin(const Fault& fault);
    void end(const Fault& fault);
    void kill(Role role, Instant until);
    void return_of(Role role);
    void listen();
    void connect_one();
    void open_paths();
    void tick();
    void on_client_closed();
    [[nodiscard]] sim::Session* client();
    [[nodiscard]] sim::Session* server();
    [[nodiscard]] std::optional<Instant> both_up();
    [[nodiscard]] std::size_t live_sessions();
    [[nodiscard]] Duration time_to_finish();
    [[nodiscard]] Duration slowest_round_trip();
    void finish();
    void part();
    [[nodiscard]] Outcome outcome();

    const Plan& plan_;
    World world_;
    Work work_;
    Watch watch_;
    std::shared_ptr<End> client_end_;
    std::shared_ptr<End> server_end_;
    std::uint64_t connections_ = 0;
    std::uint64_t key_updates_ = 0;
    std::vector<Instant> path_asked_;
    std::optional<Instant> reconnect_at_;
    bool parting_ = false;
    bool over_ = false;
};

sim::Session* Episode::client() {
    auto& sessions = s().client().sessions();
    return s().client().killed() || sessions.empty() ? nullptr : sessions.back().get();
}

sim::Session* Episode::server() {
    auto& sessions = s().server().sessions();
    return s().server().killed() || sessions.empty() ? nullptr : sessions.back().get();
}

/// Time since which both ends have had the same connection.
std::optional<Instant> Episode::both_up() {
    const sim::Session* c = client();
    const sim::Session* d = server();
    if (c == nullptr || d == nullptr || !c->connection || !d->connection || !c->connected_at || !d->connected_at) {
        return std::nullopt;
    }
    if (c->connection->local_id() != d->connection->remote_id()) return std::nullopt;
    return std::max(*c->connected_at, *d->connected_at);
}

std::size_t Episode::live_sessions() {
    std::size_t out = 0;
    for (const Role role : {Role::client, Role::server}) {
        sim::SimHost& host = world_.host(role);
        if (!host.killed()) out += host.endpoint().connection_count();
    }
    return out;
}

Duration Episode::slowest_round_trip() {
    Duration out = milliseconds(400);
    for (std::size_t i = 0; i < world_.line_count(); ++i) out = std::max(out, world_.round_trip(i));
    return out;
}

void Episode::listen() {
    s().server().listen(16, [this](proto::Connection& connection) {
        server_end_ = std::make_shared<End>(work_, Role::server, connection.remote_id());
        return server_end_;
    });
}

void Episode::connect_one() {
    reconnect_at_.reset();
    if (s().client().killed()) return;
    if (server_end_) server_end_->retire();
    work_.abandon_attempts();
    ++connections_;
    s().note("the client connects");
    client_end_ = std::make_shared<End>(work_, Role::client, std::nullopt);
    path_asked_.assign(world_.line_count(), Instant{});
    s().client().connect(world_.candidates(), client_end_);
}

/// Opens a path on each line.
void Episode::open_paths() {
    sim::Session* session = client();
    if (world_.line_count() == 1 || session == nullptr || !session->connection || !session->connection->connected()) {
        return;
    }
    const auto candidates = world_.candidates();
    const ConnectionStats stats = session->connection->stats();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const bool open = std::ranges::any_of(stats.paths, [&](const PathStats& p) {
            return p.state != PathState::closed && p.local == candidates[i].local;
        });
        if (open || world_.now() - path_asked_[i] < kOpenPathAgain) continue;
        path_asked_[i] = world_.now();
        const auto opened = session->connection->add_path(world_.now(), candidates[i].local, candidates[i].remote, {});
        if (!opened) work_.violation("a path could not be opened: " + opened.error().message);
        s().client().pump();
    }
}

void Episode::script() {
    for (const Fault& fault : plan_.faults) {
        s().at(fault.from, "begins: " + fault.text(), [this, &fault] { begin(fault); });
        if (fault.length > Duration{}) {
            s().at(fault.from + fault.length, "ends: " + fault.text(), [this, &fault] { end(fault); });
        }
    }
}

void Episode::begin(const Fault& fault) {
    const Instant until = world_.now() + fault.length;
    switch (fault.kind) {
        case FaultKind::sleep_client:
        case FaultKind::sleep_server:
            (fault.kind == FaultKind::sleep_client ? s().client() : s().server()).sleep_for(fault.length);
            world_.disturb_all(until);
            watch_.excuse(until);
            break;
        case FaultKind::kill_client:
            kill(Role::client, until);
            break;
        case FaultKind::kill_server:
            kill(Role::server, until);
            break;
        default:
            world_.begin(fault);
    }
}

void Episode::end(const Fault& fault) {
    if (fault.kind == FaultKind::kill_client) return return_of(Role::client);
    if (fault.kind == FaultKind::kill_server) return return_of(Role::server);
    world_.end(fault);
}

void Episode::kill(Role role, Instant until) {
    sim::SimHost& host = world_.host(role);
    if (host.killed()) return;
    host.kill();
    watch_.excuse(until);
    reconnect_at_.reset();
}

void Episode::return_of(Role role) {
    sim::SimHost& host = world_.host(role);
    if (!host.killed()) return;
    host.start_anew();
    world_.disturb_all(world_.now());
    if (role == Role::server) {
        listen();
    } else {
        reconnect_at_ = world_.now();
    }
}

void Episode::on_client_closed() {
    sim::Session& session = *client();
    const bool was_up = session.connected_at.has_value();
    s().note("the client's connection ended: " + session.closed->message);
    key_updates_ += session.final_stats.key_updates;
    const Duration silence =
        was_up ? std::min(plan_.client.idle_timeout, plan_.server.idle_timeout) : plan_.client.handshake_timeout;
    watch_.on_closed(*session.closed, silence, was_up);
    reconnect_at_ = world_.now() + kReconnectAfter;
}

void Episode::tick() {
    if (over_) return;
    sim::Session* session = client();
    if (!parting_) {
        if (session != nullptr && session->closed && !reconnect_at_) on_client_closed();
        if (reconnect_at_ && world_.now() >= *reconnect_at_) connect_one();
        open_paths();
        watch_.look(both_up(), live_sessions());
    }
    const Duration pace = plan_.length > seconds(600) ? milliseconds(250) : milliseconds(50);
    s().events().call_at(world_.now() + pace, [this] { tick(); });
}

/// Time for the data in flight at one datagram per round trip, with losses. It includes slow readers, and a dead
/// connection that has to time out and connect again.
Duration Episode::time_to_finish() {
    constexpr std::uint64_t kDatagram = 1000;
    const auto datagrams = static_cast<Duration::rep>(work_.under_way() / kDatagram + 100);
    Duration out = seconds(180) + 4 * datagrams * slowest_round_trip() + 2 * plan_.client.handshake_timeout;
    out += 2 * (plan_.client.idle_timeout + plan_.server.idle_timeout);
    for (const Task& task : plan_.tasks) {
        if (task.reader_speed > 0)
            out += Dice::seconds(static_cast<double>(task.bytes) / static_cast<double>(task.reader_speed));
    }
    for (std::size_t i = 0; i < world_.line_count(); ++i) out += 2 * world_.patience(i);
    return out;
}

void Episode::finish() {
    s().note("the script is over");
    work_.wind_down();
    for (const auto& [role, end] : {std::pair(Role::client, client_end_), std::pair(Role::server, server_end_)}) {
        sim::Session* session = role == Role::client ? client() : server();
        if (session != nullptr && session->connection && session->app == end) {
            end->wind_down(world_.now(), *session->connection);
        }
        world_.host(role).pump();
    }
    const Duration deadline = s().elapsed() + time_to_finish();
    if (!s().run_until([this] { return work_.done(); }, deadline)) {
        work_.violation("not over in time:\n" + work_.state());
    }
}

/// The client closes; no connection may remain.
void Episode::part() {
    parting_ = true;
    sim::Session* session = client();
    if (session != nullptr && session->connection) {
        key_updates_ += session->connection->stats().key_updates;
        session->connection->close(world_.now(), 0, "done");
        s().client().pump();
    }
    const Duration silence =
        std::max(plan_.client.handshake_timeout, std::max(plan_.client.idle_timeout, plan_.server.idle_timeout));
    const Duration deadline = s().elapsed() + silence + kDrain + 10 * slowest_round_trip();
    if (!s().run_until([this] { return live_sessions() == 0; }, deadline)) {
        work_.violation(std::to_string(live_sessions()) + " connections are left after the end");
    }
    over_ = true;
}

Outcome Episode::run() {
    try {
        listen();
        connect_one();
        script();
        tick();
        s().run_for(plan_.length);
        finish();
        part();
    } catch (const std::exception& e) {
        work_.violation(std::string("exception: ") + e.what());
    }
    return outcome();
}

Outcome Episode::outcome() {
    Outcome out;
    out.violations = work_.violations();
    for (const std::string& line : describe(plan_)) out.history += "  " + line + "\n";
    out.history += s().history();
    out.lasted = s().elapsed();
    out.moving_seconds = work_.moving_seconds();
    out.bytes = work_.bytes();
    out.events = s().events().processed();
    out.connections = connections_;
    out.key_updates = key_updates_;
    watch_.report(out);
    return out;
}

}  // namespace

Outcome run(const Plan& plan) { return Episode(plan).run(); }

}  // namespace udtx::soak
