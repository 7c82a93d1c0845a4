#include "udtx/session.hpp"

#include <exception>
#include <new>
#include <utility>

#include "base/scarcity.hpp"
#include "io/accept_queue.hpp"
#include "io/dial.hpp"
#include "io/path_plan.hpp"
#include "io/protocol_thread.hpp"
#include "io/resolve.hpp"
#include "io/session_state.hpp"

namespace udtx {
namespace {

Error not_there() { return {ErrorCode::invalid_argument, "the session object was moved from"}; }

Result<proto::PathAddresses> plan(const PathRequest& path, const std::vector<Address>& dialled) {
    const auto interfaces = io::list_interfaces();
    if (!interfaces) return interfaces.error();
    auto way = io::plan_path(path, *interfaces, dialled, io::AddressChoice::any);
    if (!way) return Error{way.error().code, "path " + way.error().message};
    return way;
}

/// What a call makes; an error where it had no memory, or no thread, to make it with.
template <class Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc& lack) {
        return Error{ErrorCode::internal, describe_lack(lack)};  // short enough to need none
    } catch (const std::exception&) {
        return Error{ErrorCode::internal, "no resources"};
    }
}

/// A thread made by `make`, and started. The event loop and the thread say by an exception that there is no descriptor
/// or no thread to be had.
template <class Make>
Result<std::shared_ptr<io::ProtocolThread>> started(const Make& make) {
    try {
        auto made = make();
        if (!made) return made.error();
        auto thread = io::ProtocolThread::share(std::move(*made));
        thread->start();
        return thread;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& failed) {
        return Error{ErrorCode::network,
                     "cannot start the session's thread and event loop: " + std::string(failed.what()) +
                         "; a higher limit of open files or processes (ulimit) may help"};
    }
}

using MadeThread = Result<std::unique_ptr<io::ProtocolThread>>;

std::shared_ptr<io::SessionState> dial(io::Driver& driver, std::vector<proto::PathAddresses> ways, bool several) {
    auto state = std::make_shared<io::SessionState>();
    const auto dial = std::make_shared<io::Dial>(io::Dial::Setup{
        .driver = driver,
        .ways = std::move(ways),
        .several = several,
        .handler = state,
        .connected = [state](proto::Connection& connection,
                             proto::Waker waker) { state->attach(std::move(waker), connection.remote()); },
        .log = {}});
    dial->begin();
    return state;
}

}  // namespace

// --- Stream

StreamId Stream::id() const noexcept { return handle_->id(); }

Result<void> Stream::write(std::span<const std::byte> bytes) {
    return guarded([&] { return handle_->session().write(handle_->stream(), bytes); });
}

Result<std::size_t> Stream::read(std::span<std::byte> out) {
    return guarded([&] { return handle_->session().read(handle_->stream(), out); });
}

Result<void> Stream::finish() {
    return guarded([&] { return handle_->session().finish(handle_->stream()); });
}

// --- Session

Session::Session(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::SessionState> state,
                 std::vector<Address> dialled)
    : thread_(std::move(thread)), state_(std::move(state)), dialled_(std::move(dialled)) {}

Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
    if (this != &other) {
        close();
        state_ = std::move(other.state_);
        thread_ = std::move(other.thread_);
        dialled_ = std::move(other.dialled_);
    }
    return *this;
}

Session::~Session() { close(); }

Result<Session> Session::connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                 const TransportConfig& config) {
    return guarded([&]() -> Result<Session> {
        const auto addresses = io::resolve(host.empty() ? "localhost" : host, port);
        if (!addresses) return addresses.error();
        std::vector<proto::PathAddresses> ways;
        for (const Address& remote : *addresses) ways.push_back({.local = {}, .remote = remote, .options = {}});
        return connect(credentials, config, std::move(ways), false, *addresses);
    });
}

Result<Session> Session::connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                 const TransportConfig& config, const std::vector<PathRequest>& paths) {
    return guarded([&]() -> Result<Session> {
        if (paths.empty() || paths.size() > config.max_paths) {
            return Error{
                ErrorCode::invalid_argument,
                std::to_string(paths.size()) + " paths, at least one and at most " + std::to_string(config.max_paths)};
        }
        const auto addresses = io::resolve(host.empty() ? "localhost" : host, port);
        if (!addresses) return addresses.error();
        std::vector<proto::PathAddresses> ways;
        for (const PathRequest& path : paths) {
            const auto way = plan(path, *addresses);
            if (!way) return way.error();
            ways.push_back(*way);
        }
        return connect(credentials, config, std::move(ways), true, *addresses);
    });
}

Result<Session> Session::connect(const Credentials& credentials, const TransportConfig& config,
                                 std::vector<proto::PathAddresses> ways, bool several, std::vector<Address> dialled) {
    std::shared_ptr<io::SessionState> state;
    auto thread = started([&]() -> MadeThread {
        auto made = io::ProtocolThread::make_open(credentials, config, {}, ways);
        if (made) state = dial((*made)->driver(), std::move(ways), several);
        return made;
    });
    if (!thread) return thread.error();
    if (const auto connected = state->wait_connected(); !connected) {
        state->close();
        return connected.error();
    }
    return Session(std::move(*thread), std::move(state), std::move(dialled));
}

Result<Stream> Session::open_stream() {
    return guarded([&]() -> Result<Stream> {
        if (!state_) return not_there();
        auto stream = state_->open_stream();
        if (!stream) return stream.error();
        return Stream(std::make_shared<io::StreamHandle>(state_, std::move(*stream)));
    });
}

Result<Stream> Session::accept_stream(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<Stream> {
        if (!state_) return not_there();
        auto stream = state_->accept_stream(timeout);
        if (!stream) return stream.error();
        return Stream(std::make_shared<io::StreamHandle>(state_, std::move(*stream)));
    });
}

void Session::close() {
    if (state_) state_->close();
}

Result<void> Session::wait_closed(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<void> {
        if (!state_) return not_there();
        return state_->wait_closed(timeout);
    });
}

Result<ConnectionStats> Session::stats() const {
    return guarded([&]() -> Result<ConnectionStats> {
        if (!state_) return not_there();
        return state_->stats();
    });
}

Address Session::remote() const { return state_ ? state_->remote() : Address{}; }

Result<PathId> Session::add_path(const PathRequest& path) {
    return guarded([&]() -> Result<PathId> {
        if (!state_) return not_there();
        if (dialled_.empty()) return Error{ErrorCode::invalid_argument, "only the side that dialled opens paths"};
        const auto way = plan(path, dialled_);
        if (!way) return way.error();
        const bool v6 = way->remote.family == Address::Family::v6;
        const auto local = thread_->driver().local_address();
        if (v6 && local && local->family == Address::Family::v4) {
            return Error{ErrorCode::invalid_argument,
                         "path " + path.local + ": the session was dialled over IPv4 and without an IPv6 path"};
        }
        return state_->add_path(*way);
    });
}

Result<void> Session::remove_path(PathId id) {
    return guarded([&]() -> Result<void> {
        if (!state_) return not_there();
        return state_->remove_path(id);
    });
}

Result<PathEvent> Session::wait_path_event(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<PathEvent> {
        if (!state_) return not_there();
        return state_->wait_path_event(timeout);
    });
}

// --- Listener

Listener::Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue)
    : thread_(std::move(thread)), queue_(std::move(queue)) {}

Listener::Listener(Listener&&) noexcept = default;

Listener& Listener::operator=(Listener&& other) noexcept {
    if (this != &other) {
        close();
        queue_ = std::move(other.queue_);
        thread_ = std::move(other.thread_);
    }
    return *this;
}

Listener::~Listener() { close(); }

Result<Listener> Listener::bind(const std::string& address, const Credentials& credentials,
                                const TransportConfig& config, std::size_t max_connections) {
    return guarded([&]() -> Result<Listener> {
        const auto place = io::parse_host_port(address);
        if (!place) return place.error();
        const auto addresses = io::resolve(place->host, place->port);
        if (!addresses) return addresses.error();
        Error first;
        for (std::size_t i = 0; i < addresses->size(); ++i) {
            const auto queue = std::make_shared<io::AcceptQueue>(max_connections);
            auto thread = started([&]() -> MadeThread {
                auto made = io::ProtocolThread::make(credentials, config);
                if (!made) return made;
                io::Driver& driver = (*made)->driver();
                if (const auto opened = driver.open((*addresses)[i]); !opened) return opened.error();
                driver.listen(max_connections, [&driver, queue](proto::Connection& connection) {
                    return queue->add(driver, connection);
                });
                return made;
            });
            if (thread) return Listener(std::move(*thread), queue);
            if (i == 0) first = thread.error();
        }
        return first;
    });
}

Address Listener::local_address() const {
    const auto address = thread_ ? thread_->driver().local_address() : Address{};
    return address ? *address : Address{};
}

Result<Session> Listener::accept(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<Session> {
        if (!queue_) return not_there();
        auto state = queue_->take(timeout);
        if (!state) return state.error();
        return Session(thread_, std::move(*state), {});
    });
}

void Listener::close() {
    if (queue_) queue_->close();
}

}  // namespace udtx
