#include "io/accept_queue.hpp"

#include <utility>

namespace udtx::io {

std::shared_ptr<SessionState> AcceptQueue::add(Driver& driver, proto::Connection& connection) {
    const std::lock_guard lock(mutex_);
    if (!open_ || waiting_.size() >= most_) return nullptr;
    auto state = std::make_shared<SessionState>();
    state->attach(driver.waker_for(connection), connection.remote());
    waiting_.push_back(state);
    changed_.notify_one();
    return state;
}

Result<std::shared_ptr<SessionState>> AcceptQueue::take(std::chrono::milliseconds timeout) {
    if (fork_guard_.forked()) return ForkGuard::error();
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, timeout, [this] { return !waiting_.empty() || !open_; });
    if (!open_) return Error{ErrorCode::interrupted, "the listener was closed"};
    if (!came) return Error{ErrorCode::timeout, "nobody connected in time"};
    auto state = std::move(waiting_.front());
    waiting_.pop_front();
    return state;
}

void AcceptQueue::close() {
    if (fork_guard_.forked()) return;
    std::unique_lock lock(mutex_);
    open_ = false;
    changed_.notify_all();
    // One by one: another container would need memory, and destructors come here.
    while (!waiting_.empty()) {
        const auto state = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        state->close();
        lock.lock();
    }
}

}  // namespace udtx::io
