// Connects the calls of user threads with one connection on the protocol thread. User threads store requests under a
// mutex and call the Waker. The protocol thread carries them out in on_wake().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "io/waiting_calls.hpp"
#include "proto/application.hpp"
#include "stream/recv_stream.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/credentials.hpp"
#include "udtx/ids.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/log.hpp"
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/session.hpp"
#include "udtx/stats.hpp"

namespace udtx::io {

/// Size of each queue between the user's threads and the connection, for each ordered stream and direction.
inline constexpr std::size_t kQueueBytes = 4U << 20U;

/// A stream between the user's threads and the connection. SessionState's mutex guards it. The session shares it with
/// the user's handles as long as bytes may be transferred.
struct SessionStream {
    enum class Writing : std::uint8_t {
        open,       ///< the user may write
        finishing,  ///< the end follows the queued bytes
        finished,   ///< the end was passed to the connection
        delivered,  ///< the peer has all bytes
        failed,     ///< with write_error
    };
    static constexpr Step<Writing> kWriting[] = {
        {Writing::open, Writing::finishing},     {Writing::finishing, Writing::finished},
        {Writing::finished, Writing::delivered}, {Writing::open, Writing::failed},
        {Writing::finishing, Writing::failed},   {Writing::finished, Writing::failed},
    };
    enum class Reading : std::uint8_t {
        open,    ///< bytes may come
        ended,   ///< the connection has handed over all bytes
        failed,  ///< with read_error
    };
    static constexpr Step<Reading> kReading[] = {
        {Reading::open, Reading::ended}, {Reading::open, Reading::failed}, {Reading::ended, Reading::failed}};

    explicit SessionStream(StreamId stream) : id(stream) {}

    void fail_writing(Error why) {
        outgoing.clear();
        outgoing_bytes = 0;
        if (writing == Writing::delivered || writing == Writing::failed) return;
        writing.enter(Writing::failed);
        write_error = std::move(why);
    }
    void fail_reading(Error why) {
        if (reading != Reading::failed) reading.enter(Reading::failed);
        read_error = std::move(why);
    }
    void end_reading() {
        if (reading == Reading::open) reading.enter(Reading::ended);
    }
    /// True if the connection has no more part in this stream.
    [[nodiscard]] bool over() const noexcept {
        const bool sent = writing >= Writing::delivered && !reset_due;
        return sent && reading != Reading::open && !stop_due && release_due == 0 && pieces.empty();
    }

    StreamId id;

    Lifecycle<kWriting> writing{Writing::open};
    Error write_error;
    stream::BlockFiller written;  // copies of bytes that users keep
    std::deque<Chunk> outgoing;
    std::size_t outgoing_bytes = 0;
    std::optional<std::uint64_t> reset_due;  // code of a reset to pass to the connection

    Lifecycle<kReading> reading{Reading::open};
    Error read_error;
    std::optional<std::uint64_t> stop_due;  // code of a stop to pass to the connection
    // For ordered streams.
    std::deque<Chunk> incoming;
    std::size_t incoming_bytes = 0;
    bool readable = false;  // the connection has more bytes
    // For unordered streams.
    stream::BlockFiller unordered;
    std::deque<Piece> pieces;
    std::uint64_t release_due = 0;  // bytes read, for which the connection may give credit

    // False: the peer opened it and the user has not taken it yet; its bytes stay under flow control.
    bool accepted = true;
    bool abandoned = false;  // no handle exists any more
};

class SessionState final : public proto::ConnectionHandler, public WaitingCalls {
  public:
    // --- protocol thread
    void attach(proto::Waker waker, const proto::Connection& connection);
    /// Sets the Waker until attach(). It triggers on_wake() of a connection that is still being established.
    void attach_connector(proto::Waker waker);
    /// Stores the addresses of the host, in order of preference. False: the caller no longer wants a connection.
    [[nodiscard]] bool set_peer_addresses(std::vector<Address> addresses);
    /// For an accepted connection, before its first event: `log` receives the events of its paths, in lines with the
    /// prefix `whose`.
    void log_paths_to(LogSink log, std::string whose);
    /// Ends the session because the connection could not be started.
    void fail(Error why);
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;
    void on_turn_end() override;

    // --- user threads: attempts of calls that wait, for wait() and begin()
    using StreamPtr = std::shared_ptr<SessionStream>;
    Attempted<void> try_connected() REQUIRES(mutex_);
    Attempted<void> try_closed() REQUIRES(mutex_);
    Attempted<PathEvent> try_path_event() REQUIRES(mutex_);
    Attempted<StreamPtr> try_accept(StreamKind kind) REQUIRES(mutex_);
    /// Takes bytes if fewer than `most` are queued. After a failed attempt it waits until the queue is half empty, so
    /// that not every chunk wakes a thread.
    Attempted<std::size_t> try_write(const StreamPtr& stream, std::span<const std::byte> bytes, std::size_t& most)
        REQUIRES(mutex_);
    /// Has a result once all bytes were taken. `taken`: at first 0.
    Attempted<std::size_t> try_write_all(const StreamPtr& stream, std::span<const std::byte> bytes, std::size_t& most,
                                         std::size_t& taken) REQUIRES(mutex_);
    Attempted<void> try_write_chunk(const StreamPtr& stream, Chunk& chunk, std::size_t& most) REQUIRES(mutex_);
    Attempted<void> try_finish(const StreamPtr& stream) REQUIRES(mutex_);
    Attempted<std::size_t> try_read(const StreamPtr& stream, std::span<std::byte> out) REQUIRES(mutex_);
    Attempted<Chunk> try_read_chunk(const StreamPtr& stream) REQUIRES(mutex_);
    Attempted<std::optional<Piece>> try_read_piece(const StreamPtr& stream) REQUIRES(mutex_);

    /// What the protocol thread does once for a call that waits for its result.
    template <class T>
    struct Question {
        std::function<Result<T>(Instant, proto::Connection&)> ask;
        std::shared_ptr<Attempted<T>> answer{};  // null until it was asked
    };
    template <class T>
    Attempted<T> try_ask(Question<T>& question) REQUIRES(mutex_);
    Attempted<ConnectionStats> try_stats(Question<ConnectionStats>& question) REQUIRES(mutex_);
    [[nodiscard]] Question<StreamPtr> opening(StreamKind kind);

    // --- user threads: calls that return at once
    void reset(SessionStream& stream, std::uint64_t code);
    void stop_receiving(SessionStream& stream, std::uint64_t code);
    void abandon(SessionStream& stream);
    /// Ends a connection attempt with `cancelled`; does nothing once the connection is established.
    void stop_connecting();
    void close(std::uint64_t code, std::string reason);
    Result<void> set_max_rate(Rate rate);
    Result<void> set_peer_rate(Rate rate);
    [[nodiscard]] Address remote() { return copy_of(&SessionState::remote_); }
    /// Addresses of the host; empty if the peer connected.
    [[nodiscard]] std::vector<Address> peer_addresses() { return copy_of(&SessionState::peer_addresses_); }
    [[nodiscard]] std::optional<PublicKey> peer_key() { return copy_of(&SessionState::peer_key_); }
    [[nodiscard]] std::optional<CloseReason> close_reason() { return copy_of(&SessionState::close_reason_); }

  private:
    enum class Life : std::uint8_t {
        connecting,
        connected,
        ended,   ///< the connection is over, or was given up; received bytes can still be read
        closed,  ///< the user has closed the session
    };
    static constexpr Step<Life> kLife[] = {{Life::connecting, Life::connected}, {Life::connecting, Life::ended},
                                           {Life::connecting, Life::closed},    {Life::connected, Life::ended},
                                           {Life::connected, Life::closed},     {Life::ended, Life::closed}};
    using Request = std::function<void(Instant, proto::Connection&)>;
    struct Settling;

    /// Wakes the protocol thread if there is a request. It unlocks for that, because a Waker takes other locks.
    bool flush() override REQUIRES(mutex_);
    Result<void> ask_for(Request request);
    template <class T>
    [[nodiscard]] T copy_of(T SessionState::*member) {
        if (forked()) return {};
        const Lock lock(mutex_);
        return this->*member;
    }
    [[nodiscard]] bool over() const noexcept REQUIRES(mutex_) { return life_ >= Life::ended; }
    /// Works without memory too, because destructors close sessions.
    static Error closed_here() noexcept;
    void note_peer(const proto::Connection& connection) REQUIRES(mutex_);
    Result<StreamPtr> open_now(StreamKind kind, Instant now, proto::Connection& connection) REQUIRES(mutex_);

    void handle(proto::Connection& connection, const proto::event::Connected& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::StreamOpened& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::PeerMoved& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::PathChanged& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::Closed& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::Readable& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::Writable& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::StreamReceived& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::StreamDelivered& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::StreamReset& event) REQUIRES(mutex_);
    void handle(proto::Connection& connection, const proto::event::StreamStopped& event) REQUIRES(mutex_);

    // session_streams.cpp
    [[nodiscard]] std::optional<Error> why_not_written(const SessionStream& stream) const REQUIRES(mutex_);
    [[nodiscard]] std::optional<Error> why_not_read(const SessionStream& stream) const REQUIRES(mutex_);
    void put(SessionStream& stream, Chunk chunk) REQUIRES(mutex_);
    /// Call it after a read: the connection may have more bytes.
    void note_read(SessionStream& stream, std::size_t bytes) REQUIRES(mutex_);
    [[nodiscard]] StreamPtr find(StreamId id) const REQUIRES(mutex_);
    StreamPtr add(StreamId id) REQUIRES(mutex_);
    void serve(proto::Connection& connection, SessionStream& stream) REQUIRES(mutex_);
    void pump_out(proto::Connection& connection, SessionStream& stream) REQUIRES(mutex_);
    void pump_in(proto::Connection& connection, SessionStream& stream, std::size_t most) REQUIRES(mutex_);
    void forget_if_over(const SessionStream& stream) REQUIRES(mutex_);

    LogSink log_;              // protocol thread only
    std::string whose_;        // protocol thread only
    bool bytes_came_ = false;  // protocol thread only; since the last on_turn_end()

    Lifecycle<kLife> life_ GUARDED_BY(mutex_){Life::connecting};
    Error end_ GUARDED_BY(mutex_);                                  // why calls fail after the end
    std::shared_ptr<const proto::Waker> waker_ GUARDED_BY(mutex_);  // copying it needs no memory
    bool wake_due_ GUARDED_BY(mutex_) = false;
    Address remote_ GUARDED_BY(mutex_);
    std::vector<Address> peer_addresses_ GUARDED_BY(mutex_);
    std::optional<PublicKey> peer_key_ GUARDED_BY(mutex_);
    std::optional<CloseReason> close_reason_ GUARDED_BY(mutex_);
    std::unordered_map<StreamId, StreamPtr> streams_ GUARDED_BY(mutex_);
    std::deque<StreamPtr> acceptable_ GUARDED_BY(mutex_);  // opened by the peer, not yet taken
    std::deque<Request> requests_ GUARDED_BY(mutex_);
    std::deque<PathEvent> path_events_ GUARDED_BY(mutex_);
    std::optional<ConnectionStats> last_stats_ GUARDED_BY(mutex_);  // for calls after the end
};

template <class T>
Attempted<T> SessionState::try_ask(Question<T>& question) {
    if (!question.answer && !over()) {
        question.answer = std::make_shared<Attempted<T>>();
        requests_.push_back(
            [asked = std::weak_ptr(question.answer), ask = question.ask](Instant now, proto::Connection& connection) {
                if (const auto wanted = asked.lock()) wanted->emplace(ask(now, connection));
            });
        wake_due_ = true;
    }
    if (question.answer && question.answer->has_value()) return std::move(*question.answer);
    if (over()) return Result<T>(end_);
    return std::nullopt;
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
