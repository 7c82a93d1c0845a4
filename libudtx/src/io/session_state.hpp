// Bridge between the blocking calls of user threads and one connection on the protocol thread. User threads put wishes
// behind a mutex and call the Waker; the protocol thread carries them out in on_wake().
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "io/fork_guard.hpp"
#include "proto/application.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx::io {

/// Of each stream and direction, between the user's threads and the connection.
inline constexpr std::size_t kQueueBytes = 4U << 20U;

/// Guarded by SessionState's mutex. Shared by the session (while bytes may move) and the user's handles.
struct SessionStream {
    StreamId id;

    std::deque<Chunk> outgoing;
    std::size_t outgoing_bytes = 0;
    bool finish_wanted = false;
    bool finish_passed = false;  // to the connection
    bool delivered = false;
    std::optional<Error> write_error;

    std::vector<std::byte> incoming;
    std::size_t incoming_at = 0;  // bytes before it were read
    bool readable = false;        // the connection has more
    bool ended = false;           // `incoming` holds all that will come
    std::optional<Error> read_error;

    bool accepted = true;    // false: opened by the peer, not yet taken: its bytes stay under flow control
    bool abandoned = false;  // no handle is left
    [[nodiscard]] std::size_t buffered() const noexcept { return incoming.size() - incoming_at; }
};

class SessionState final : public proto::ConnectionHandler {
  public:
    // --- protocol thread
    void attach(proto::Waker waker, const Address& remote);
    /// There will be no connection.
    void fail(const std::exception& lack);
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId, std::uint64_t, std::span<const std::byte>) override {}  // refused, see stream_opened

    // --- user threads
    using StreamPtr = std::shared_ptr<SessionStream>;
    Result<void> wait_connected();
    Result<StreamPtr> open_stream();
    Result<StreamPtr> accept_stream(std::chrono::milliseconds timeout);
    Result<void> write(SessionStream& stream, std::span<const std::byte> bytes);
    Result<std::size_t> read(SessionStream& stream, std::span<std::byte> out);
    Result<void> finish(SessionStream& stream);
    void abandon(SessionStream& stream);
    void close();
    Result<void> wait_closed(std::chrono::milliseconds timeout);
    Result<ConnectionStats> stats();
    Result<PathId> add_path(const proto::PathAddresses& way);
    Result<void> remove_path(PathId id);
    Result<PathEvent> wait_path_event(std::chrono::milliseconds timeout);
    [[nodiscard]] Address remote();

  private:
    using Lock = std::unique_lock<std::mutex>;

    /// Has `what` done on the protocol thread, under the lock, and waits for its answer.
    template <class T>
    Result<T> ask(std::function<Result<T>(Instant, proto::Connection&)> what);
    /// Lets the protocol thread look; called without the lock, because a Waker takes others.
    void wake(Lock& lock);
    [[nodiscard]] bool over() const noexcept { return end_.has_value(); }
    void handle(proto::Connection& connection, const proto::event::Connected& event);
    void handle(proto::Connection& connection, const proto::event::StreamOpened& event);
    void handle(proto::Connection& connection, const proto::event::Readable& event);
    void handle(proto::Connection& connection, const proto::event::Writable& event);
    void handle(proto::Connection& connection, const proto::event::StreamReceived& event);
    void handle(proto::Connection& connection, const proto::event::StreamDelivered& event);
    void handle(proto::Connection& connection, const proto::event::StreamReset& event);
    void handle(proto::Connection& connection, const proto::event::StreamStopped& event);
    void handle(proto::Connection& connection, const proto::event::PeerMoved& event);
    void handle(proto::Connection& connection, const proto::event::PathChanged& event);
    void handle(proto::Connection& connection, const proto::event::Closed& event);
    void serve_requests(Instant now, proto::Connection& connection);
    void pump_out(proto::Connection& connection, SessionStream& stream);
    void pump_in(proto::Connection& connection, SessionStream& stream, std::size_t most);
    void forget_if_done(StreamId id);
    [[nodiscard]] StreamPtr find(StreamId id) const;
    StreamPtr add(StreamId id);

    ForkGuard fork_guard_;  // asked before the lock, which somebody may have held when the process forked
    std::mutex mutex_;
    std::condition_variable changed_;
    std::shared_ptr<const proto::Waker> waker_;  // copied without memory
    Address remote_;
    bool connected_ = false;
    bool close_wanted_ = false;
    std::optional<Error> end_;  // why nothing works any more
    bool orderly_end_ = false;
    std::unordered_map<StreamId, StreamPtr> streams_;
    std::deque<StreamPtr> acceptable_;
    std::deque<std::function<void(Instant, proto::Connection&)>> requests_;
    std::deque<PathEvent> path_events_;
    std::uint64_t stats_asked_ = 0;
    std::uint64_t stats_answered_ = 0;
    ConnectionStats stats_;
    std::vector<std::byte> scratch_;
};

/// What Stream holds; the last one to go abandons the stream.
class StreamHandle {
  public:
    StreamHandle(std::shared_ptr<SessionState> session, std::shared_ptr<SessionStream> stream)
        : session_(std::move(session)), stream_(std::move(stream)), id_(stream_->id) {}
    ~StreamHandle() { session_->abandon(*stream_); }
    StreamHandle(const StreamHandle&) = delete;
    StreamHandle& operator=(const StreamHandle&) = delete;

    [[nodiscard]] SessionState& session() const noexcept { return *session_; }
    [[nodiscard]] SessionStream& stream() const noexcept { return *stream_; }
    [[nodiscard]] StreamId id() const noexcept { return id_; }

  private:
    std::shared_ptr<SessionState> session_;
    std::shared_ptr<SessionStream> stream_;
    StreamId id_;
};

}  // namespace udtx::io
