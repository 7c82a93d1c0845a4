#include "transfer/serve/server_state.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "io/listening.hpp"
#include "os/system.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"
#include "transfer/run/job_options.hpp"
#include "transfer/run/transfer_state.hpp"
#include "udtx/core/config_check.hpp"
#include "udtx/monotonic_clock.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::transfer {
namespace {

/// The endpoint accepts this many more connections. The budget decides which of them is refused or makes another give
/// way.
constexpr std::size_t kSpareConnections = 64;

Error removed_key() { return {ErrorCode::authentication, "the server no longer accepts the key of this client"}; }

}  // namespace

ServerState::~ServerState() {
    turns_->stop();
    stop_protocol(Duration::zero());
    reserve_descriptors(-reserved_);
}

Result<void> ServerState::open() {
    auto opened = io::open_shared({.credentials = options_.credentials,
                                   .config = transport_config(options_.link),
                                   .options = driver_options(options_.link),
                                   .threads = options_.protocol_threads,
                                   .listen = options_.listen,
                                   .choice = options_.choice,
                                   .socket = std::move(options_.socket)});
    if (!opened) return opened.error();
    protocol_ = std::move(*opened);
    reserved_ = static_cast<std::ptrdiff_t>((protocol_.size() - 1) * io::kDescriptorsOfThread);
    reserve_descriptors(reserved_);
    if (options_.log && protocol_.size() > 1) {
        options_.log = [this, log = std::move(options_.log)](LogLevel level, const std::string& text) {
            const std::lock_guard lock(logging_);
            log(level, text);
        };
    }
    const auto local = protocol_.front()->driver().local_address();
    if (!local) return local.error();
    local_ = *local;
    return {};
}

void ServerState::stop_protocol(Duration at_most) {
    for (const auto& thread : protocol_) thread->begin_stop(at_most);
    for (const auto& thread : protocol_) thread->stop(at_most);
}

Duration ServerState::protocol_time() const {
    Duration all = Duration::zero();
    for (const auto& thread : protocol_) all += thread->thread_time();
    return all;
}

Result<void> ServerState::start() {
    const std::lock_guard starting(starting_);
    if (started_) return Error{ErrorCode::invalid_argument, "the server was started before"};
    for (const auto& thread : protocol_) listen(*thread);
    note_started(true);
    auto started = or_error([this] { return start_threads(); });
    if (started) return started;
    turns_->stop();
    stop_protocol(Duration::zero());
    note_started(false);
    return started;
}

void ServerState::listen(io::ProtocolThread& thread) {
    io::Driver& driver = thread.driver();
    driver.listen(std::max(options_.limits.connections, ClientBudget::kConnections) + kSpareConnections,
                  [this, &thread](proto::Connection& connection) { return accept(thread, connection); });
    driver.on_trouble([this](const Error& why, bool over) { on_trouble(why, over); });
    driver.on_refused([this](const Address& remote, const proto::CloseReason& why) {
        const std::lock_guard one(asking_);
        if (options_.log) options_.log(LogLevel::detail, to_string(remote) + ": " + why.message);
        if (options_.connection_failed) options_.connection_failed(remote, Error{why.code, why.message});
    });
}

Result<void> ServerState::start_threads() {
    for (const auto& thread : protocol_) thread->start();
    turns_->start([this] {
        turn();
        return true;
    });
    // Last, since the disk threads take what remains of a limit. A client that comes earlier finds them running or gets
    // an error.
    return start_disk_pools();
}

void ServerState::note_started(bool started) {
    const std::lock_guard lock(mutex_);
    started_ = started;
    changed_.notify_all();
}

ClientBudget::Connections ServerState::connections() const {
    const std::lock_guard lock(mutex_);
    return connections_;
}

Client ServerState::client_of(const proto::Connection& connection) {
    Client client{.number = next_number_++, .address = connection.remote()};
    const auto key = connection.peer_key();
    if (key.empty()) return client;
    client.key.emplace();
    std::copy_n(key.begin(), std::min(key.size(), client.key->bytes.size()), client.key->bytes.begin());
    client.identity = path_key({reinterpret_cast<const char*>(key.data()), key.size()});
    return client;
}

std::shared_ptr<proto::ConnectionHandler> ServerState::accept(io::ProtocolThread& thread,
                                                              proto::Connection& connection) {
    const std::lock_guard one(asking_);
    const Client client = client_of(connection);
    const std::uint64_t owner = ClientBudget::owner(client.address, client.identity);
    const auto admitted = admit(client, owner);
    if (!admitted) {
        if (options_.turned_away) options_.turned_away(client, admitted.error());
        return std::make_shared<TurnedAway>(admitted.error());
    }
    const auto own = std::ranges::find(protocol_, &thread, [](const auto& shared) { return shared.get(); });
    auto served = ServedState::make(*own, connection, setup_for(client, owner, admitted->max_rate));
    const std::lock_guard lock(mutex_);
    connections_.push_back(served);  // the last step that can fail: each one in the list has its connection
    return served;
}

Result<Admission> ServerState::admit(const Client& client, std::uint64_t owner) {
    auto admission = options_.admit ? options_.admit(client) : Result<Admission>(Admission{});
    if (!admission) return admission;
    if (const auto good = proto::check_cap(admission->max_rate, "the rate of this client"); !good) return good.error();
    // The handshake may have started with earlier keys.
    if (!accepts(client)) return removed_key();
    ClientBudget::Connections here;
    {
        const std::lock_guard lock(mutex_);
        if (closing_) return Error{ErrorCode::going_away, "the server is being stopped"};
        here = connections_;
    }
    if (const auto room = budget_.admit(here, owner); !room) return room.error();
    return admission;
}

ServedState::Setup ServerState::setup_for(const Client& client, std::uint64_t owner, Rate most) {
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
    setup.serve.told = options_.link.transport.max_receive_rate;
    return setup;
}

std::shared_ptr<ServedState> ServerState::find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find_if(connections_,
                                         [&](const auto& connection) { return connection->client().number == number; });
    return at == connections_.end() ? nullptr : *at;
}

Result<ReceiveJobOptions> ServerState::take_push(const Client& client) {
    const std::lock_guard one(asking_);
    if (!options_.push) return Error{ErrorCode::refused, "the server does not receive files"};
    const auto landing = options_.push(client);
    if (!landing) return landing.error();
    if (landing->receipt) {
        if (const auto served = find(client.number)) served->keep(landing->receipt);
    }
    return job_options(*landing);
}

Result<ConfinedSources> ServerState::find_sources(const Client& client, const PullWish& wish) const {
    if (!options_.pull) return Error{ErrorCode::refused, "the server does not send files"};
    const auto offered = [&] {
        const std::lock_guard one(asking_);
        return options_.pull(client, wish.what);
    }();
    if (!offered) return offered.error();
    return open_offered(*offered, wish);
}

Result<void> ServerState::set_credentials(const Credentials& credentials) {
    const std::lock_guard keying(keying_);
    std::vector<io::EndpointDeps::Keys> keys;
    for (std::size_t i = 0; i < protocol_.size(); ++i) {
        auto made = io::EndpointDeps::make_keys(credentials);
        if (!made) return made.error();
        keys.push_back(std::move(*made));
    }
    {
        const std::lock_guard lock(mutex_);
        credentials_ = credentials;
    }
    for (std::size_t i = 0; i < protocol_.size(); ++i) {
        const auto next = std::make_shared<io::EndpointDeps::Keys>(std::move(keys[i]));
        protocol_[i]->driver().post([this, &thread = *protocol_[i], next] { use(thread, std::move(*next)); });
    }
    return {};
}

void ServerState::use(io::ProtocolThread& thread, io::EndpointDeps::Keys keys) {
    const bool all = thread.set_keys(std::move(keys));
    const Error why = removed_key();
    for (const auto& connection : connections()) {
        if (!connection->runs_on(thread) || (!all && accepts(connection->client()))) continue;
        connection->cancel(why.code, why.message);
    }
}

bool ServerState::accepts(const Client& client) const {
    const std::lock_guard lock(mutex_);
    return !client.key || credentials_.trusts(*client.key);
}

void ServerState::drain() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    turns_->wake();
}

void ServerState::cancel(ErrorCode code, const std::string& reason) {
    drain();
    for (const auto& connection : connections()) connection->cancel(code, reason);
}

void ServerState::on_trouble(const Error& why, bool over) {
    if (options_.log) {
        const std::lock_guard one(asking_);
        options_.log(LogLevel::warning, why.message + (over ? "; the server ends" : "; trying again"));
    }
    if (!over) return;
    {
        const std::lock_guard lock(mutex_);
        failed_ = why;
    }
    // The connections of other threads still work, so that their clients can be told.
    cancel(ErrorCode::going_away, "the server is being stopped");
}

Result<void> ServerState::status() const {
    const std::lock_guard lock(mutex_);
    return failed_ ? Result<void>(*failed_) : Result<void>();
}

bool ServerState::wait(std::chrono::milliseconds at_most) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, at_most, [this] { return over_ || !started_; });
}

void ServerState::wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !started_; });
}

void ServerState::stop(Duration at_most) {
    const std::lock_guard starting(starting_);
    stop_protocol(at_most);
}

void ServerState::turn() {
    try {
        reap();
        relieve_disk_pools();
        const auto here = connections();
        budget_.enforce(here);
        const Instant now = monotonic_now();
        for (const auto& connection : here) connection->turn(now, options_.link.patience.value_or(kPatience));
        note_over();
    } catch (const std::bad_alloc&) {
        // Memory may soon be free again; the next turn tries again.
    }
}

void ServerState::reap() {
    while (const auto served = first_done()) {
        leaving_.reserve(leaving_.size() + 1);
        served->settle();
        if (options_.ended) options_.ended(ServedTransfer(served));
        // The last owner of a sending job waits for its disk. It must not be the protocol thread, and must wait until
        // the job's disk calls have ended.
        leaving_.push_back(served);
        const std::lock_guard lock(mutex_);
        std::erase(connections_, served);
    }
    std::erase_if(leaving_, [](const auto& served) { return served.use_count() == 1 && served->job().at_rest(); });
}

std::shared_ptr<ServedState> ServerState::first_done() const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(connections_, [](const auto& connection) { return connection->job_done(); });
    return found == connections_.end() ? nullptr : *found;
}

void ServerState::note_over() {
    const auto rests = [](const auto& served) { return served->job().at_rest(); };
    const bool leave = std::ranges::all_of(leaving_, rests);
    const std::lock_guard lock(mutex_);
    over_ = closing_ && connections_.empty() && leave;
    if (over_) changed_.notify_all();
}

const Client& ServedTransfer::client() const noexcept { return state_->client(); }
ServedTransfer::Kind ServedTransfer::kind() const { return state_->kind(); }
bool ServedTransfer::sends() const { return state_->job().sender() != nullptr; }
bool ServedTransfer::refused() const { return state_->job().refused(); }
bool ServedTransfer::done() const noexcept { return state_->done(); }
Progress ServedTransfer::progress() const { return state_->job().progress(); }
Outcome ServedTransfer::outcome() const { return state_->outcome(); }
std::optional<ConnectionStats> ServedTransfer::stats() const { return state_->stats(); }
Duration ServedTransfer::elapsed() const { return state_->elapsed(); }
Duration ServedTransfer::idle() const { return state_->idle(); }
std::uint64_t ServedTransfer::held() const { return state_->held(); }
Duration ServedTransfer::writing_time() const { return state_->writing_time(); }
void ServedTransfer::set_max_rate(Rate rate) const { state_->set_max_rate(rate); }
void ServedTransfer::cancel(ErrorCode code, const std::string& reason) const { state_->cancel(code, reason); }

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

Address Server::local_address() const { return state_->local_address(); }
std::string Server::buffer_advice() const { return state_->buffer_advice(); }
std::size_t Server::protocol_threads() const { return state_->protocol_threads(); }
Result<void> Server::start() {
    return or_error([this] { return state_->start(); });
}
std::vector<ServedTransfer> Server::transfers() const {
    std::vector<ServedTransfer> all;
    for (auto& connection : state_->connections()) all.emplace_back(std::move(connection));
    return all;
}
Result<void> Server::set_credentials(const Credentials& credentials) {
    return or_error([&] { return state_->set_credentials(credentials); });
}
void Server::drain() { state_->drain(); }
void Server::cancel(ErrorCode code, const std::string& reason) { state_->cancel(code, reason); }
Result<void> Server::status() const { return state_->status(); }
bool Server::wait(std::chrono::milliseconds at_most) const { return state_->wait(at_most); }
void Server::wait() const { state_->wait(); }
void Server::stop(Duration at_most) { state_->stop(at_most); }
Duration Server::protocol_time() const { return state_->protocol_time(); }

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
