#include "io/session_thread.hpp"

#include <exception>
#include <string>
#include <utility>

namespace udtx::io {
namespace {

constexpr Duration kDrainAtMost = std::chrono::milliseconds(1000);

}  // namespace

SessionThread::SessionThread(std::unique_ptr<EndpointDeps> deps, const TransportConfig& config)
    : deps_(std::move(deps)), driver_(deps_->view(), config) {}

Result<std::shared_ptr<SessionThread>> SessionThread::make(const Credentials& credentials,
                                                           const TransportConfig& config,
                                                           const std::function<Result<void>(Driver&)>& open) {
    auto deps = EndpointDeps::make(credentials);
    if (!deps) return deps.error();
    // The event loop and the thread say by an exception that there is no descriptor or no thread to be had.
    try {
        return start(std::move(*deps), config, open);
    } catch (const std::exception& failed) {
        return Error{ErrorCode::network,
                     "cannot start the session's thread and event loop: " + std::string(failed.what()) +
                         "; a higher limit of open files or processes (ulimit) may help"};
    }
}

Result<std::shared_ptr<SessionThread>> SessionThread::start(std::unique_ptr<EndpointDeps> deps,
                                                            const TransportConfig& config,
                                                            const std::function<Result<void>(Driver&)>& open) {
    // In a fork of the process there is no thread to join, and taking the socket out of the shared epoll set would take
    // it out of the parent's: there it stays as it is.
    const std::shared_ptr<SessionThread> self(new SessionThread(std::move(deps), config), [](SessionThread* thread) {
        if (!thread->fork_guard_.forked()) delete thread;
    });
    if (const auto opened = open(self->driver_); !opened) return opened.error();
    if (const auto local = self->driver_.local_address()) self->local_ = *local;
    self->thread_ = std::thread([driver = &self->driver_] { driver->run(); });
    return self;
}

SessionThread::~SessionThread() {
    driver_.stop_when_drained(kDrainAtMost);
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<SessionState> SessionThread::connect(std::vector<proto::PathAddresses> ways) {
    auto state = std::make_shared<SessionState>();
    driver_.post([this, state, ways = std::move(ways)] {
        try {
            const auto connection = driver_.connect(ways, state);
            state->attach(driver_.waker_for(*connection), connection->remote());
        } catch (const std::exception& lack) {
            state->fail(lack);
        }
    });
    return state;
}

void SessionThread::listen(std::size_t max_connections) {
    {
        const std::lock_guard lock(mutex_);
        accepting_ = true;
        max_acceptable_ = max_connections;
    }
    driver_.post([this, max_connections] {
        driver_.listen(max_connections,
                       [this](proto::Connection& connection) -> std::shared_ptr<proto::ConnectionHandler> {
                           const std::lock_guard lock(mutex_);
                           if (!accepting_ || acceptable_.size() >= max_acceptable_) return nullptr;
                           auto state = std::make_shared<SessionState>();
                           state->attach(driver_.waker_for(connection), connection.remote());
                           acceptable_.push_back(state);
                           changed_.notify_one();
                           return state;
                       });
    });
}

Result<std::shared_ptr<SessionState>> SessionThread::accept(std::chrono::milliseconds timeout) {
    if (fork_guard_.forked()) return ForkGuard::error();
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, timeout, [this] { return !acceptable_.empty() || !accepting_; });
    if (!accepting_) return Error{ErrorCode::interrupted, "the listener was closed"};
    if (!came) return Error{ErrorCode::timeout, "nobody connected in time"};
    auto state = std::move(acceptable_.front());
    acceptable_.pop_front();
    return state;
}

void SessionThread::stop_accepting() {
    if (fork_guard_.forked()) return;
    std::unique_lock lock(mutex_);
    accepting_ = false;
    changed_.notify_all();
    // One by one: another container would need memory, and destructors come here.
    while (!acceptable_.empty()) {
        const auto state = std::move(acceptable_.front());
        acceptable_.pop_front();
        lock.unlock();
        state->close();
        lock.lock();
    }
}

}  // namespace udtx::io
