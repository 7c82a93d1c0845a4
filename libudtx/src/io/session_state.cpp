// The user threads' side: wishes and waits.
#include "io/session_state.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace udtx::io {
namespace {

constexpr std::size_t kPieceBytes = 256U << 10U;

/// Also without memory: destructors close.
Error closed_here() noexcept {
    try {
        return {ErrorCode::interrupted, "the session was closed on this side"};
    } catch (const std::exception&) {
        return {ErrorCode::interrupted, "closed here"};
    }
}

}  // namespace

void SessionState::wake(Lock& lock) {
    const auto waker = waker_;
    lock.unlock();
    if (waker && *waker) (*waker)();
    lock.lock();
}

template <class T>
Result<T> SessionState::ask(std::function<Result<T>(Instant, proto::Connection&)> what) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    if (over()) return *end_;
    const auto answer = std::make_shared<std::optional<Result<T>>>();
    requests_.push_back([answer, what = std::move(what)](Instant now, proto::Connection& connection) {
        *answer = what(now, connection);
    });
    wake(lock);
    changed_.wait(lock, [&] { return answer->has_value() || over(); });
    if (!answer->has_value()) return *end_;
    return **answer;
}

Result<void> SessionState::wait_connected() {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return connected_ || over(); });
    if (over()) return *end_;
    return {};
}

Result<SessionState::StreamPtr> SessionState::open_stream() {
    return ask<StreamPtr>([this](Instant, proto::Connection& connection) -> Result<StreamPtr> {
        const auto opened = connection.open_stream(StreamKind::ordered);
        if (!opened) return opened.error();
        return add(*opened);
    });
}

Result<PathId> SessionState::add_path(const proto::PathAddresses& way) {
    return ask<PathId>([way](Instant now, proto::Connection& connection) {
        return connection.add_path(now, way.local, way.remote, way.options);
    });
}

Result<void> SessionState::remove_path(PathId id) {
    return ask<void>([id](Instant now, proto::Connection& connection) { return connection.remove_path(now, id); });
}

Result<PathEvent> SessionState::wait_path_event(std::chrono::milliseconds timeout) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    const bool came = changed_.wait_for(lock, timeout, [this] { return !path_events_.empty() || over(); });
    if (!came) return Error{ErrorCode::timeout, "nothing happened to the paths in time"};
    if (close_wanted_ || path_events_.empty()) return *end_;
    PathEvent event = path_events_.front();
    path_events_.pop_front();
    return event;
}

Result<SessionState::StreamPtr> SessionState::accept_stream(std::chrono::milliseconds timeout) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    const bool came = changed_.wait_for(lock, timeout, [this] { return !acceptable_.empty() || over(); });
    if (!close_wanted_ && !acceptable_.empty()) {
        StreamPtr stream = std::move(acceptable_.front());
        acceptable_.pop_front();
        stream->accepted = true;
        wake(lock);
        return stream;
    }
    if (!came) return Error{ErrorCode::timeout, "the peer opened no stream in time"};
    return *end_;
}

Result<void> SessionState::write(SessionStream& stream, std::span<const std::byte> bytes) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    while (!bytes.empty()) {
        changed_.wait(lock, [&] { return stream.outgoing_bytes < kQueueBytes || stream.write_error || over(); });
        if (over()) return *end_;
        if (stream.write_error) return *stream.write_error;
        if (stream.finish_wanted) return Error{ErrorCode::invalid_argument, "write after finish"};
        lock.unlock();
        Chunk chunk = Chunk::copy_of(bytes.first(std::min(bytes.size(), kPieceBytes)));
        lock.lock();
        if (stream.finish_wanted) continue;  // by another thread meanwhile: reported above
        const std::size_t size = chunk.size();
        stream.outgoing.push_back(std::move(chunk));
        stream.outgoing_bytes += size;
        bytes = bytes.subspan(size);
        wake(lock);
    }
    if (over()) return *end_;
    return {};
}

Result<std::size_t> SessionState::read(SessionStream& stream, std::span<std::byte> out) {
    if (fork_guard_.forked()) return ForkGuard::error();
    if (out.empty()) return std::size_t{0};
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return stream.buffered() > 0 || stream.ended || stream.read_error || over(); });
    if (close_wanted_) return closed_here();
    if (stream.read_error) return *stream.read_error;
    const std::size_t count = std::min(out.size(), stream.buffered());
    if (count == 0) {
        if (stream.ended) return std::size_t{0};
        return *end_;
    }
    std::memcpy(out.data(), stream.incoming.data() + stream.incoming_at, count);
    stream.incoming_at += count;
    if (stream.readable && stream.buffered() < kQueueBytes / 2) wake(lock);
    return count;
}

Result<void> SessionState::finish(SessionStream& stream) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    if (!stream.finish_wanted && !over()) {
        stream.finish_wanted = true;
        wake(lock);
    }
    changed_.wait(lock, [&] { return stream.delivered || stream.write_error || over(); });
    if (stream.delivered) return {};
    if (stream.write_error) return *stream.write_error;
    return *end_;
}

void SessionState::abandon(SessionStream& stream) {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    stream.abandoned = true;
    stream.finish_wanted = true;
    if (!over()) wake(lock);
}

void SessionState::close() {
    if (fork_guard_.forked()) return;
    Lock lock(mutex_);
    if (std::exchange(close_wanted_, true)) return;
    if (!over()) {
        end_ = closed_here();
        orderly_end_ = true;
    }
    changed_.notify_all();
    wake(lock);
}

Result<void> SessionState::wait_closed(std::chrono::milliseconds timeout) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return over(); })) {
        return Error{ErrorCode::timeout, "the session is still open"};
    }
    if (!orderly_end_) return *end_;
    return {};
}

Result<ConnectionStats> SessionState::stats() {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    if (!over()) {
        const std::uint64_t ticket = ++stats_asked_;
        wake(lock);
        changed_.wait(lock, [&] { return stats_answered_ >= ticket || over(); });
    }
    if (stats_answered_ == 0) return *end_;
    return stats_;
}

Address SessionState::remote() {
    if (fork_guard_.forked()) return {};
    const Lock lock(mutex_);
    return remote_;
}

}  // namespace udtx::io
