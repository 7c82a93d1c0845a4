// Connects the calls of user threads with one connection on the protocol thread. User threads store requests under a
// mutex and call the Waker. The protocol thread carries them out in on_wake().
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/protocol_thread.hpp"
#include "io/session_streams.hpp"
#include "io/waiting_calls.hpp"
#include "proto/application.hpp"
#include "udtx/close_reason.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/credentials.hpp"
#include "udtx/log.hpp"
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx::io {

class SessionState final : public proto::ConnectionHandler {
  public:
    // --- protocol thread
    void attach(proto::Waker waker, const proto::Connection& connection);
    /// Sets the Waker until attach(). It triggers on_wake() of a connection that is still being established.
    void attach_dialling(proto::Waker waker);
    /// Stores the addresses of the host, in order of preference. False: the caller no longer wants a connection.
    [[nodiscard]] bool set_dialled(std::vector<Address> addresses);
    /// For an accepted connection, before its first event: `log` receives the events of its paths, in lines with the
    /// prefix `whose`.
    void log_paths_to(LogSink log, std::string whose);
    /// Ends the session because the connection could not be started.
    void fail(Error why);
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;
    void on_turn_end() override;

    // --- user threads: calls that wait. Each one blocks, or with start_ calls back.
    using StreamPtr = SessionStreams::StreamPtr;
    using Timeout = std::chrono::milliseconds;
    Result<void> wait_connected(Timeout timeout);
    CallId start_wait_connected(Callback<void> done);
    Result<StreamPtr> open_stream(StreamKind kind, Timeout timeout);
    CallId start_open_stream(StreamKind kind, Callback<StreamPtr> done);
    Result<StreamPtr> accept_stream(StreamKind kind, Timeout timeout);
    CallId start_accept_stream(StreamKind kind, Callback<StreamPtr> done);
    Result<std::size_t> write_some(const StreamPtr& stream, std::span<const std::byte> bytes, Timeout timeout);
    /// `all`: calls back only once all bytes were taken.
    CallId start_write(const StreamPtr& stream, std::span<const std::byte> bytes, bool all, Callback<std::size_t> done);
    Result<void> write_chunk(const StreamPtr& stream, Chunk chunk, Timeout timeout);
    CallId start_write_chunk(const StreamPtr& stream, Chunk chunk, Callback<void> done);
    Result<std::size_t> read(const StreamPtr& stream, std::span<std::byte> out, Timeout timeout);
    CallId start_read(const StreamPtr& stream, std::span<std::byte> out, Callback<std::size_t> done);
    Result<Chunk> read_chunk(const StreamPtr& stream, Timeout timeout);
    CallId start_read_chunk(const StreamPtr& stream, Callback<Chunk> done);
    Result<std::optional<Piece>> read_piece(const StreamPtr& stream, Timeout timeout);
    CallId start_read_piece(const StreamPtr& stream, Callback<std::optional<Piece>> done);
    Result<void> finish(const StreamPtr& stream, Timeout timeout);
    CallId start_finish(const StreamPtr& stream, Callback<void> done);
    Result<void> wait_closed(Timeout timeout);
    CallId start_wait_closed(Callback<void> done);
    Result<PathEvent> wait_path_event(Timeout timeout);
    CallId start_wait_path_event(Callback<PathEvent> done);
    Result<ConnectionStats> stats();
    Result<PathId> add_path(const proto::PathAddresses& way);
    Result<void> remove_path(PathId id);

    // --- user threads: calls that return at once
    void reset(SessionStream& stream, std::uint64_t code);
    void stop_receiving(SessionStream& stream, std::uint64_t code);
    void abandon(SessionStream& stream);
    /// Ends a connection attempt with `cancelled`; does nothing once the connection is established.
    void stop_connecting();
    void close(std::uint64_t code, std::string reason);
    Result<void> set_max_rate(Rate rate);
    Result<void> set_peer_rate(Rate rate);
    /// Null: cancels all calls of the session and its streams.
    void cancel(const SessionStream* stream);
    void cancel(CallId call);
    [[nodiscard]] Address remote();
    /// Addresses of the host; empty if the peer connected.
    [[nodiscard]] std::vector<Address> dialled();
    [[nodiscard]] std::optional<PublicKey> peer_key();
    [[nodiscard]] std::optional<CloseReason> close_reason();

  private:
    using Lock = std::unique_lock<std::mutex>;
    using Request = std::function<void(Instant, proto::Connection&)>;
    struct Settling;

    template <class T, class Attempt>
    Result<T> block(const void* subject, Timeout timeout, const char* late, Attempt attempt);
    template <class T, class Attempt>
    CallId begin(const void* subject, Attempt attempt, Callback<T> done);
    /// Returns an attempt that runs `what` on the protocol thread, once, and waits for its result.
    template <class T, class What>
    auto asking(What what);
    Result<void> ask_for(Request request);

    // The attempts of the calls above.
    std::optional<Result<void>> try_connected();
    std::optional<Result<StreamPtr>> try_accept(StreamKind kind);
    /// Takes bytes if fewer than `most` are queued. After a failed attempt it waits until the queue is half empty, so
    /// that not every chunk wakes a thread.
    std::optional<Result<std::size_t>> try_write(SessionStream& stream, std::span<const std::byte> bytes,
                                                 std::size_t& most);
    std::optional<Result<void>> try_write_chunk(SessionStream& stream, Chunk& chunk, std::size_t& most);
    [[nodiscard]] std::optional<Error> why_not_written(const SessionStream& stream) const;
    void put(SessionStream& stream, Chunk chunk);
    /// Call it after a read: the connection may have more bytes.
    void note_read(SessionStream& stream, std::size_t bytes);
    std::optional<Result<std::size_t>> try_read(SessionStream& stream, std::span<std::byte> out);
    std::optional<Result<Chunk>> try_read_chunk(SessionStream& stream);
    std::optional<Result<std::optional<Piece>>> try_read_piece(SessionStream& stream);
    std::optional<Result<void>> try_finish(SessionStream& stream);
    std::optional<Result<void>> try_closed();
    std::optional<Result<PathEvent>> try_path_event();

    /// Wakes the protocol thread if there is a request. It unlocks for that, because a Waker takes other locks. True:
    /// it unlocked.
    bool flush(Lock& lock);
    void settle(Lock& lock) noexcept;
    [[nodiscard]] bool over() const noexcept { return end_.has_value(); }
    /// Works without memory too, because destructors close sessions.
    static Error closed_here() noexcept;

    void handle(proto::Connection& connection, const proto::event::Connected& event);
    void handle(proto::Connection& connection, const proto::event::StreamOpened& event);
    void handle(proto::Connection& connection, const proto::event::PeerMoved& event);
    void handle(proto::Connection& connection, const proto::event::PathChanged& event);
    void handle(proto::Connection& connection, const proto::event::Closed& event);
    template <class StreamEvent>
    void handle(proto::Connection& connection, const StreamEvent& event) {
        streams_.handle(connection, event);
    }
    void note_peer(const proto::Connection& connection);

    LogSink log_;              // protocol thread only
    std::string whose_;        // protocol thread only
    bool bytes_came_ = false;  // protocol thread only; since the last on_turn_end()

    ForkGuard fork_guard_;  // checked before locking: another thread may have held the lock at the fork
    std::mutex mutex_;
    WaitingCalls calls_;
    std::shared_ptr<const proto::Waker> waker_;  // copying it needs no memory
    bool wake_due_ = false;
    Address remote_;
    std::vector<Address> dialled_;
    std::optional<PublicKey> peer_key_;
    bool connected_ = false;
    bool close_wanted_ = false;
    std::optional<Error> end_;  // set at the end: why later calls fail
    std::optional<CloseReason> close_reason_;
    SessionStreams streams_;
    std::deque<Request> requests_;
    std::deque<PathEvent> path_events_;
    std::optional<ConnectionStats> last_stats_;  // the last statistics, for calls after the end
};

template <class T, class Attempt>
Result<T> SessionState::block(const void* subject, Timeout timeout, const char* late, Attempt attempt) {
    if (fork_guard_.forked()) return ForkGuard::error();
    Lock lock(mutex_);
    return calls_.wait<T>(lock, subject, timeout, late, std::move(attempt), [this](Lock& held) { return flush(held); });
}

template <class T, class Attempt>
CallId SessionState::begin(const void* subject, Attempt attempt, Callback<T> done) {
    if (fork_guard_.forked()) {
        done(ForkGuard::error());
        return {};
    }
    Lock lock(mutex_);
    return calls_.begin<T>(lock, subject, std::move(attempt), std::move(done),
                           [this](Lock& held) { return flush(held); });
}

/// The handle that a Stream holds. Its destructor abandons the stream.
class StreamHandle {
  public:
    StreamHandle(std::shared_ptr<SessionState> session, std::shared_ptr<SessionStream> stream)
        : session_(std::move(session)), stream_(std::move(stream)), id_(stream_->id) {}
    ~StreamHandle() { session_->abandon(*stream_); }
    StreamHandle(const StreamHandle&) = delete;
    StreamHandle& operator=(const StreamHandle&) = delete;

    [[nodiscard]] SessionState& session() const noexcept { return *session_; }
    [[nodiscard]] const std::shared_ptr<SessionStream>& stream() const noexcept { return stream_; }
    [[nodiscard]] StreamId id() const noexcept { return id_; }

  private:
    std::shared_ptr<SessionState> session_;
    std::shared_ptr<SessionStream> stream_;
    StreamId id_;
};

}  // namespace udtx::io
