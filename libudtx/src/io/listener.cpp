#include "udtx/session.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/state_access.hpp"
#include "io/listening.hpp"
#include "io/protocol_thread.hpp"
#include "io/session_state.hpp"

namespace udtx::io {

/// Holds a listener's sessions from their handshake until the program accepts them.
class AcceptQueue final : public WaitingCalls {
  public:
    using StatePtr = std::shared_ptr<SessionState>;

    /// `most`: how many sessions may wait, as many as may be connected. `log` receives the events of their paths.
    AcceptQueue(std::size_t most, LogSink log) : most_(most), log_(std::move(log)) {}

    /// The callback for Driver::listen(); runs on the protocol thread. Null if the queue is closed or full.
    StatePtr add(Driver& driver, proto::Connection& connection) {
        std::shared_ptr<SessionState> state;
        {
            const Lock lock(mutex_);
            if (!open_ || waiting_.size() >= most_) return nullptr;
            state = std::make_shared<SessionState>();
            if (log_) state->log_paths_to(log_, to_string(connection.remote()) + ": ");
            state->attach(driver.waker_for(connection), connection);
            waiting_.push_back(state);
        }
        settle();
        return state;
    }

    /// Every call that finds no session fails with `why` from now on; protocol thread.
    void fail(const Error& why) {
        {
            const Lock lock(mutex_);
            failed_ = why;
        }
        settle();
    }

    /// An attempt for wait() and begin().
    Attempted<StatePtr> try_take() REQUIRES(mutex_) {
        if (!open_) return Result<StatePtr>(Error{ErrorCode::interrupted, "the listener was closed"});
        if (waiting_.empty()) return failed_ ? Attempted<StatePtr>(*failed_) : std::nullopt;
        auto state = std::move(waiting_.front());
        waiting_.pop_front();
        return Result<StatePtr>(std::move(state));
    }

    /// Accepts no further sessions and closes those that still wait.
    void close() {
        if (forked()) return;
        {
            const Lock lock(mutex_);
            open_ = false;
            // Removes them one by one: another container would need memory, and destructors call this.
            while (!waiting_.empty()) {
                const auto state = std::move(waiting_.front());
                waiting_.pop_front();
                const Unlock unlock(mutex_);
                state->close(0, std::string());
            }
        }
        settle();
    }

  private:
    const std::size_t most_;
    const LogSink log_;
    std::deque<StatePtr> waiting_ GUARDED_BY(mutex_);
    bool open_ GUARDED_BY(mutex_) = true;
    std::optional<Error> failed_ GUARDED_BY(mutex_);
};

}  // namespace udtx::io

namespace udtx {
namespace {

using io::guarded;

Error no_listener() { return {ErrorCode::invalid_argument, "the listener object was moved from"}; }

Result<Listener> listen_on(const std::string& address, UniqueFd socket, const Credentials& credentials,
                           const ListenOptions& options) {
    const auto queue = std::make_shared<io::AcceptQueue>(options.max_connections, options.log);
    auto thread = io::start_thread([&]() -> Result<std::unique_ptr<io::ProtocolThread>> {
        auto made = io::ProtocolThread::make(credentials, options.config, {});
        if (!made) return made;
        io::Driver& driver = (*made)->driver();
        const auto opened = io::open_to_listen(driver, address, AddressChoice::any, std::move(socket));
        if (!opened) return opened.error();
        auto ports = io::listen_tcp(driver, options.tcp_listen);
        if (!ports) return ports.error();
        driver.announce_tcp(std::move(*ports));
        if (options.log) {
            driver.on_refused([log = options.log](const Address& remote, const CloseReason& why) {
                log(LogLevel::detail, to_string(remote) + ": " + why.message);
            });
        }
        driver.on_trouble([queue, log = options.log](const Error& why, bool over) {
            if (over) return queue->fail(why);
            if (log) log(LogLevel::warning, why.message);
        });
        driver.listen(options.max_connections,
                      [&driver, queue](proto::Connection& connection) { return queue->add(driver, connection); });
        return made;
    });
    if (!thread) return thread.error();
    return StateAccess::make<Listener>(std::move(*thread), queue);
}

}  // namespace

Listener::Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue)
    : thread_(std::move(thread)), queue_(std::move(queue)) {}

Listener::Listener() noexcept = default;
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
    return bind(address, credentials, ListenOptions{.config = config, .max_connections = max_connections});
}

Result<Listener> Listener::bind(const std::string& address, const Credentials& credentials,
                                const ListenOptions& options) {
    return guarded([&] { return listen_on(address, {}, credentials, options); });
}

Result<Listener> Listener::adopt(UniqueFd socket, const Credentials& credentials, const ListenOptions& options) {
    return guarded([&]() -> Result<Listener> {
        if (!socket) return Error{ErrorCode::invalid_argument, "no descriptor"};
        return listen_on({}, std::move(socket), credentials, options);
    });
}

Address Listener::local_address() const {
    const auto address = thread_ ? thread_->driver().local_address() : Address{};
    return address ? *address : Address{};
}

Result<Session> Listener::accept(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<Session> {
        if (!queue_) return no_listener();
        auto state = queue_->wait<std::shared_ptr<io::SessionState>>(
            nullptr, timeout, "no client connected in time", std::bind_front(&io::AcceptQueue::try_take, queue_.get()));
        if (!state) return state.error();
        return StateAccess::make<Session>(thread_, std::move(*state));
    });
}

CallId Listener::start_accept(Callback<Session> done) {
    return io::begun<Session>(done, [&]() -> Result<CallId> {
        if (!queue_) return no_listener();
        // A weak pointer: the thread owns the queue that holds this callback.
        const std::weak_ptr<io::ProtocolThread> thread = thread_;
        const auto on_taken = [thread, done](Result<std::shared_ptr<io::SessionState>> state) {
            if (!state) return done(state.error());
            auto owner = thread.lock();
            if (!owner) return done(Error{ErrorCode::interrupted, "the listener was closed"});
            done(StateAccess::make<Session>(std::move(owner), std::move(*state)));
        };
        return queue_->begin<std::shared_ptr<io::SessionState>>(
            nullptr, std::bind_front(&io::AcceptQueue::try_take, queue_.get()), on_taken);
    });
}

void Listener::cancel() {
    if (queue_) queue_->cancel(nullptr);
}

void Listener::cancel(CallId call) {
    if (queue_) queue_->cancel(call);
}

void Listener::close() {
    if (queue_) queue_->close();
}

}  // namespace udtx
