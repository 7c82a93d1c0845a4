#include "io/listener.hpp"

#include <string>
#include <utility>

#include "io/listening.hpp"
#include "io/protocol_thread.hpp"
#include "udtx/listener.hpp"
#include "udtx/session.hpp"

namespace udtx::io {

AcceptQueue::StatePtr AcceptQueue::add(Driver& driver, proto::Connection& connection) {
    std::unique_lock lock(mutex_);
    if (!open_ || waiting_.size() >= most_) return nullptr;
    auto state = std::make_shared<SessionState>();
    if (log_) state->log_paths_to(log_, to_string(connection.remote()) + ": ");
    state->attach(driver.waker_for(connection), connection);
    waiting_.push_back(state);
    calls_.settle(lock);
    return state;
}

std::optional<Result<AcceptQueue::StatePtr>> AcceptQueue::try_take() {
    if (!open_) return Result<StatePtr>(Error{ErrorCode::interrupted, "the listener was closed"});
    if (waiting_.empty()) return failed_ ? std::optional(Result<StatePtr>(*failed_)) : std::nullopt;
    auto state = std::move(waiting_.front());
    waiting_.pop_front();
    return Result<StatePtr>(std::move(state));
}

void AcceptQueue::fail(const Error& why) {
    std::unique_lock lock(mutex_);
    failed_ = why;
    calls_.settle(lock);
}

Result<AcceptQueue::StatePtr> AcceptQueue::take(std::chrono::milliseconds timeout) {
    if (fork_guard_.forked()) return ForkGuard::error();
    std::unique_lock lock(mutex_);
    return calls_.wait<StatePtr>(lock, nullptr, timeout, "no client connected in time", [this] { return try_take(); });
}

CallId AcceptQueue::start_take(Callback<StatePtr> done) {
    if (fork_guard_.forked()) {
        done(ForkGuard::error());
        return {};
    }
    std::unique_lock lock(mutex_);
    return calls_.begin<StatePtr>(
        lock, nullptr, [this] { return try_take(); }, std::move(done));
}

void AcceptQueue::cancel() {
    if (fork_guard_.forked()) return;
    std::unique_lock lock(mutex_);
    calls_.cancel(lock, nullptr);
}

void AcceptQueue::cancel(CallId call) {
    if (fork_guard_.forked()) return;
    std::unique_lock lock(mutex_);
    calls_.cancel(lock, call);
}

void AcceptQueue::close() {
    if (fork_guard_.forked()) return;
    std::unique_lock lock(mutex_);
    open_ = false;
    // Removes them one by one: another container would need memory, and destructors call this.
    while (!waiting_.empty()) {
        const auto state = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        state->close(0, std::string());
        lock.lock();
    }
    calls_.settle(lock);
}

}  // namespace udtx::io

namespace udtx {
namespace {

using io::guarded;

Error no_listener() { return {ErrorCode::invalid_argument, "the listener object was moved from"}; }

using Made = std::pair<std::shared_ptr<io::ProtocolThread>, std::shared_ptr<io::AcceptQueue>>;

Result<Made> listen_on(const std::string& address, UniqueFd socket, const Credentials& credentials,
                       const ListenOptions& options) {
    const auto queue = std::make_shared<io::AcceptQueue>(options.max_connections, options.log);
    auto thread = io::start_thread([&]() -> Result<std::unique_ptr<io::ProtocolThread>> {
        auto made = io::ProtocolThread::make(credentials, options.config, {});
        if (!made) return made;
        io::Driver& driver = (*made)->driver();
        const auto opened = io::open_to_listen(driver, address, AddressChoice::any, std::move(socket));
        if (!opened) return opened.error();
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
    return Made(std::move(*thread), queue);
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
    return guarded([&]() -> Result<Listener> {
        auto made = listen_on(address, {}, credentials, options);
        if (!made) return made.error();
        return Listener(std::move(made->first), std::move(made->second));
    });
}

Result<Listener> Listener::adopt(UniqueFd socket, const Credentials& credentials, const ListenOptions& options) {
    return guarded([&]() -> Result<Listener> {
        if (!socket) return Error{ErrorCode::invalid_argument, "no descriptor"};
        auto made = listen_on({}, std::move(socket), credentials, options);
        if (!made) return made.error();
        return Listener(std::move(made->first), std::move(made->second));
    });
}

Address Listener::local_address() const {
    const auto address = thread_ ? thread_->driver().local_address() : Address{};
    return address ? *address : Address{};
}

Result<Session> Listener::accept(std::chrono::milliseconds timeout) {
    return guarded([&]() -> Result<Session> {
        if (!queue_) return no_listener();
        auto state = queue_->take(timeout);
        if (!state) return state.error();
        return Session(thread_, std::move(*state));
    });
}

CallId Listener::start_accept(Callback<Session> done) {
    return io::begun<Session>(done, [&]() -> Result<CallId> {
        if (!queue_) return no_listener();
        // A weak pointer: the thread owns the queue that holds this callback.
        const std::weak_ptr<io::ProtocolThread> thread = thread_;
        return queue_->start_take([thread, done](Result<std::shared_ptr<io::SessionState>> state) {
            if (!state) return done(state.error());
            auto owner = thread.lock();
            if (!owner) return done(Error{ErrorCode::interrupted, "the listener was closed"});
            done(Session(std::move(owner), std::move(*state)));
        });
    });
}

void Listener::cancel() {
    if (queue_) queue_->cancel();
}

void Listener::cancel(CallId call) {
    if (queue_) queue_->cancel(call);
}

void Listener::close() {
    if (queue_) queue_->close();
}

}  // namespace udtx
