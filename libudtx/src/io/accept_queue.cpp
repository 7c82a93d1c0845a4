#include "io/accept_queue.hpp"

#include <string>
#include <utility>

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
