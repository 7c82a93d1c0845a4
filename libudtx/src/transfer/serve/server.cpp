#include "udtx/transfer/server.hpp"
#include "base/thread_safety.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "io/listening.hpp"
#include "io/protocol_thread.hpp"
#include "os/system.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"
#include "transfer/run/job_watch.hpp"
#include "transfer/run/setup.hpp"
#include "transfer/serve/client_budget.hpp"
#include "transfer/serve/served_state.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/system.hpp"

namespace udtx::transfer {
namespace {

/// The endpoint accepts this many more connections. The budget decides which of them is refused or makes another give
/// way.
constexpr std::size_t kSpareConnections = 64;

Error removed_key() { return {ErrorCode::authentication, "the server no longer accepts the key of this client"}; }

}  // namespace

/// What a Server has: its protocol threads, the connections, and the thread that watches them.
class ServerState {
  public:
    explicit ServerState(ServerOptions options) : options_(std::move(options)), budget_(options_.limits) {
        life_.enter(JobStage::running);
    }
    ~ServerState() {
        turns_->stop();
        stop_protocol(Duration::zero());
        reserve_descriptors(-reserved_);
    }
    ServerState(const ServerState&) = delete;
    ServerState& operator=(const ServerState&) = delete;

    Result<void> open() {
        auto opened = io::open_shared({.credentials = options_.credentials,
                                       .config = transport_config(options_.connection),
                                       .options = {.socket = {}, .threads = options_.connection.threads},
                                       .threads = options_.protocol_threads,
                                       .listen = options_.listen,
                                       .choice = options_.choice,
                                       .socket = std::move(options_.socket)});
        if (!opened) return opened.error();
        protocol_ = std::move(*opened);
        auto ports = io::listen_tcp(protocol_.front()->driver(), options_.tcp_listen);
        if (!ports) return ports.error();
        tcp_ports_ = std::move(*ports);
        for (const auto& thread : protocol_) thread->driver().announce_tcp(tcp_ports_);
        reserved_ = static_cast<std::ptrdiff_t>((protocol_.size() - 1) * io::kDescriptorsOfThread);
        reserve_descriptors(reserved_);
        if (options_.log && protocol_.size() > 1) {
            options_.log = [this, log = std::move(options_.log)](LogLevel level, const std::string& text) {
                const Lock lock(logging_);
                log(level, text);
            };
        }
        const auto local = protocol_.front()->driver().local_address();
        if (!local) return local.error();
        local_ = *local;
        return {};
    }

    Result<void> start() {
        const Lock starting(starting_);
        {
            const Lock lock(mutex_);
            if (started_) return Error{ErrorCode::invalid_argument, "the server was started before"};
        }
        for (const auto& thread : protocol_) listen(*thread);
        note_started(true);
        auto started = or_error([this] { return start_threads(); });
        if (started) return started;
        turns_->stop();
        stop_protocol(Duration::zero());
        note_started(false);
        return started;
    }

    void drain() {
        {
            const Lock lock(mutex_);
            if (life_.goes_on()) life_.enter(JobStage::stopping);
        }
        turns_->wake();
    }

    void cancel(ErrorCode code, const std::string& reason) {
        drain();
        for (const auto& connection : connections()) connection->cancel(code, reason);
    }

    Result<void> set_credentials(const Credentials& credentials) {
        const Lock keying(keying_);
        std::vector<io::EndpointDeps::Keys> keys;
        for (std::size_t i = 0; i < protocol_.size(); ++i) {
            auto made = io::EndpointDeps::make_keys(credentials);
            if (!made) return made.error();
            keys.push_back(std::move(*made));
        }
        {
            const Lock lock(mutex_);
            credentials_ = credentials;
        }
        for (std::size_t i = 0; i < protocol_.size(); ++i) {
            const auto next = std::make_shared<io::EndpointDeps::Keys>(std::move(keys[i]));
            protocol_[i]->driver().post([this, &thread = *protocol_[i], next] { use(thread, std::move(*next)); });
        }
        return {};
    }

    void add_channel(const std::shared_ptr<Channel>& channel) {
        io::Driver& driver = protocol_.front()->driver();
        driver.post([&driver, channel] { driver.carriers().add(ChannelAccess::carrier(*channel)); });
    }

  private:
    friend class Server;

    Result<void> start_threads() {
        for (const auto& thread : protocol_) thread->start();
        turns_->start([this] {
            turn();
            return true;
        });
        // Last, since the disk threads take what remains of a limit. A client that comes earlier finds them running or
        // gets an error.
        return start_disk_pools();
    }

    /// There is nothing to wait for.
    [[nodiscard]] bool over() const REQUIRES(mutex_) { return life_ == JobStage::ended || !started_; }

    void note_started(bool started) {
        const Lock lock(mutex_);
        started_ = started;
        changed_.notify_all();
    }

    void stop_protocol(Duration at_most) {
        for (const auto& thread : protocol_) thread->begin_stop(at_most);
        for (const auto& thread : protocol_) thread->stop(at_most);
    }

    void listen(io::ProtocolThread& thread) {
        io::Driver& driver = thread.driver();
        driver.listen(std::max(options_.limits.connections, ClientBudget::kConnections) + kSpareConnections,
                      [this, &thread](proto::Connection& connection) { return accept(thread, connection); });
        driver.on_trouble([this](const Error& why, bool over) { on_trouble(why, over); });
        driver.on_refused([this](const Address& remote, const proto::CloseReason& why) {
            const Lock one(asking_);
            if (options_.log) options_.log(LogLevel::detail, to_string(remote) + ": " + why.message);
            if (options_.connection_failed) options_.connection_failed(remote, Error{why.code, why.message});
        });
    }

    /// Protocol thread: the system refuses to receive. With `over` the server ends.
    void on_trouble(const Error& why, bool over) {
        if (options_.log) {
            const Lock one(asking_);
            options_.log(LogLevel::warning, why.message + (over ? "; the server ends" : "; trying again"));
        }
        if (!over) return;
        {
            const Lock lock(mutex_);
            failed_ = why;
        }
        // The connections of other threads still work, so that their clients can be told.
        cancel(ErrorCode::going_away, "the server is being stopped");
    }

    std::shared_ptr<proto::ConnectionHandler> accept(io::ProtocolThread& thread, proto::Connection& connection) {
        const Lock one(asking_);
        const Client client = client_of(connection);
        const std::uint64_t owner = ClientBudget::owner(client.address, client.identity);
        const auto admitted = admit(client, owner);
        if (!admitted) {
            if (options_.turned_away) options_.turned_away(client, admitted.error());
            return std::make_shared<TurnedAway>(admitted.error());
        }
        const auto own = std::ranges::find(protocol_, &thread, [](const auto& shared) { return shared.get(); });
        auto served = std::make_shared<ServedState>(*own, connection, setup_for(client, owner, admitted->max_rate));
        const Lock lock(mutex_);
        connections_.push_back(served);  // the last step that can fail: each one in the list has its connection
        return served;
    }

    /// Decides whether the client is accepted, and what it may use.
    Result<Admission> admit(const Client& client, std::uint64_t owner) {
        auto admission = options_.admit ? options_.admit(client) : Result<Admission>(Admission{});
        if (!admission) return admission;
        if (const auto good = proto::check_cap(admission->max_rate, "the rate of this client"); !good)
            return good.error();
        // The handshake may have started with earlier keys.
        if (!accepts(client)) return removed_key();
        ClientBudget::Connections here;
        {
            const Lock lock(mutex_);
            if (!life_.goes_on()) return Error{ErrorCode::going_away, "the server is being stopped"};
            here = connections_;
        }
        if (const auto room = budget_.admit(here, owner); !room) return room.error();
        return admission;
    }

    Client client_of(const proto::Connection& connection) REQUIRES(asking_) {
        Client client{.number = next_number_++, .address = connection.remote()};
        const auto key = connection.peer_key();
        if (key.empty()) return client;
        client.key.emplace();
        std::copy_n(key.begin(), std::min(key.size(), client.key->bytes.size()), client.key->bytes.begin());
        client.identity = path_key({reinterpret_cast<const char*>(key.data()), key.size()});
        return client;
    }

    ServedState::Setup setup_for(const Client& client, std::uint64_t owner, Rate most) {
        ServedState::Setup setup{.client = client,
                                 .owner = owner,
                                 .serve = {},
                                 .most = most,
                                 .on_done = [turns = turns_] { turns->wake(); },
                                 .log = options_.log};
        setup.serve.push = [this, client] { return take_push(client); };
        setup.serve.pull = [this, client](const PullWish& wish) { return find_sources(client, wish); };
        // A job may outlive the server.
        if (options_.file)
            setup.serve.on_file = [tell = options_.file, client](const FileEvent& file) { tell(client, file); };
        setup.serve.told = options_.connection.transport.max_receive_rate;
        return setup;
    }

    Result<LandingOptions> take_push(const Client& client) {
        const Lock one(asking_);
        if (!options_.push) return Error{ErrorCode::refused, "the server does not receive files"};
        return options_.push(client);
    }

    Result<ConfinedSources> find_sources(const Client& client, const PullWish& wish) const {
        if (!options_.pull) return Error{ErrorCode::refused, "the server does not send files"};
        const auto offered = [&] {
            const Lock one(asking_);
            return options_.pull(client, wish.what);
        }();
        if (!offered) return offered.error();
        return open_offered(*offered, wish);
    }

    /// Protocol thread: uses the keys, and ends connections whose key is not valid any more.
    void use(io::ProtocolThread& thread, io::EndpointDeps::Keys keys) {
        const bool all = thread.set_keys(std::move(keys));
        const Error why = removed_key();
        for (const auto& connection : connections()) {
            if (!connection->runs_on(thread) || (!all && accepts(connection->client()))) continue;
            connection->cancel(why.code, why.message);
        }
    }

    /// True if the client may connect with its key.
    bool accepts(const Client& client) const {
        const Lock lock(mutex_);
        return !client.key || credentials_.trusts(*client.key);
    }

    ClientBudget::Connections connections() const {
        const Lock lock(mutex_);
        return connections_;
    }

    void turn() {
        try {
            reap();
            relieve_disk_pools();
            const auto here = connections();
            budget_.enforce(here);
            const Instant now = monotonic_now();
            for (const auto& connection : here) connection->turn(now, options_.connection.patience.value_or(kPatience));
            note_over();
        } catch (const std::bad_alloc&) {
            // Memory may soon be free again; the next turn tries again.
        }
    }

    /// Settles and reports finished transfers. If memory runs out, a transfer stays and is tried again at the next
    /// turn.
    void reap() {
        while (const auto served = first_done()) {
            leaving_.reserve(leaving_.size() + 1);
            served->settle();
            if (options_.ended) options_.ended(ServedTransfer(served));
            // The last owner of a sending job waits for its disk. It must not be the protocol thread, and must wait
            // until the job's disk calls have ended.
            leaving_.push_back(served);
            const Lock lock(mutex_);
            std::erase(connections_, served);
        }
        std::erase_if(leaving_, [](const auto& served) { return served.use_count() == 1 && served->at_rest(); });
    }

    std::shared_ptr<ServedState> first_done() const {
        const Lock lock(mutex_);
        const auto found =
            std::ranges::find_if(connections_, [](const auto& connection) { return connection->job_over(); });
        return found == connections_.end() ? nullptr : *found;
    }

    void note_over() {
        const auto rests = [](const auto& served) { return served->at_rest(); };
        const bool leave = std::ranges::all_of(leaving_, rests);
        const Lock lock(mutex_);
        if (life_ != JobStage::stopping || !connections_.empty() || !leave) return;
        life_.enter(JobStage::ended);
        changed_.notify_all();
    }

    ServerOptions options_;
    const ClientBudget budget_;
    std::vector<std::shared_ptr<io::ProtocolThread>> protocol_;
    std::ptrdiff_t reserved_ = 0;  // descriptors
    std::vector<std::uint16_t> tcp_ports_;
    Address local_;
    mutable Mutex asking_;  // locked while the program's callbacks run, by one protocol thread at a time
    Mutex logging_;
    std::uint64_t next_number_ GUARDED_BY(asking_) = 1;
    Mutex keying_;    // locked while keys are replaced, so that all threads get them in one order
    Mutex starting_;  // locked during start and stop

    mutable Mutex mutex_;
    mutable Condition changed_;
    Credentials credentials_ GUARDED_BY(mutex_){options_.credentials};  // of handshakes from now on
    bool started_ GUARDED_BY(mutex_) = false;
    JobLife life_ GUARDED_BY(mutex_);
    std::optional<Error> failed_ GUARDED_BY(mutex_);
    ClientBudget::Connections connections_ GUARDED_BY(mutex_);

    ClientBudget::Connections leaving_;  // over, but perhaps still held by the driver or in a disk call

    // Last: it uses the members above. It is shared, since jobs whose owner outlives the server still wake it.
    std::shared_ptr<TurnThread> turns_ = std::make_shared<TurnThread>();
};

Result<Server> Server::open(ServerOptions options) {
    return or_error([&]() -> Result<Server> {
        auto state = std::make_unique<ServerState>(std::move(options));
        if (const auto opened = state->open(); !opened) return opened.error();
        return Server(std::move(state));
    });
}

Server::Server(std::unique_ptr<ServerState> state) : state_(std::move(state)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Address Server::local_address() const { return state_->local_; }
void Server::add_channel(const std::shared_ptr<Channel>& channel) { state_->add_channel(channel); }
std::vector<std::uint16_t> Server::tcp_ports() const { return state_->tcp_ports_; }
std::string Server::buffer_advice() const { return state_->protocol_.front()->driver().buffer_advice(); }
std::size_t Server::protocol_threads() const { return state_->protocol_.size(); }
Result<void> Server::start() {
    return or_error([this] { return state_->start(); });
}
std::vector<ServedTransfer> Server::transfers() const {
    std::vector<ServedTransfer> all;
    for (auto& connection : state_->connections()) all.push_back(ServedTransfer(std::move(connection)));
    return all;
}
Result<void> Server::set_credentials(const Credentials& credentials) {
    return or_error([&] { return state_->set_credentials(credentials); });
}
void Server::drain() { state_->drain(); }
void Server::cancel(ErrorCode code, const std::string& reason) { state_->cancel(code, reason); }

Result<void> Server::status() const {
    const Lock lock(state_->mutex_);
    return state_->failed_ ? Result<void>(*state_->failed_) : Result<void>();
}

bool Server::wait(std::chrono::milliseconds at_most) const {
    const auto until = std::chrono::steady_clock::now() + at_most;
    const Lock lock(state_->mutex_);
    while (!state_->over() && state_->changed_.wait_until(state_->mutex_, until)) {
    }
    return state_->over();
}

void Server::wait() const {
    const Lock lock(state_->mutex_);
    while (!state_->over()) state_->changed_.wait(state_->mutex_);
}

void Server::stop(Duration at_most) {
    const Lock starting(state_->starting_);
    state_->stop_protocol(at_most);
}

Duration Server::protocol_time() const {
    Duration all = Duration::zero();
    for (const auto& thread : state_->protocol_) all += thread->thread_time();
    return all;
}

Result<void> check_served(const std::string& directory, const std::string& below, bool write) {
    const std::string place = below.empty() ? directory : directory + "/" + below;
    const auto problem = [&](const std::string& what, int error) {
        return system_failure(ErrorCode::file_io, "directory " + place + what, error);
    };
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0) return problem("", errno);
    if (!S_ISDIR(info.st_mode)) return problem("", ENOTDIR);
    if (::access(place.c_str(), (write ? W_OK : R_OK) | X_OK) != 0) {
        return problem(write ? " cannot be written" : " cannot be read", errno);
    }
    // Opens it as each transfer does: a user who may write above it must not redirect it by a symbolic link.
    const auto there = ConfinedDir::open_below(directory, below);
    if (!there) return there.error();
    return {};
}

}  // namespace udtx::transfer
