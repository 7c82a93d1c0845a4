// A stream between the user's threads and the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "proto/application.hpp"
#include "stream/recv_stream.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/error.hpp"
#include "udtx/ids.hpp"
#include "udtx/stream.hpp"

namespace udtx::io {

/// Size of each queue between the user's threads and the connection, for each ordered stream and direction.
inline constexpr std::size_t kQueueBytes = 4U << 20U;
/// When a queue falls to this size, the thread that fills it is woken.
inline constexpr std::size_t kRefillBytes = kQueueBytes / 2;
/// Most bytes that one read copies, because the protocol thread waits meanwhile.
inline constexpr std::size_t kCopyBytes = 256U << 10U;

/// SessionState's mutex guards it. The session shares it with the user's handles as long as bytes may be transferred.
struct SessionStream {
    explicit SessionStream(StreamId stream) : id(stream) {}

    StreamId id;

    stream::BlockFiller written;  // copies of bytes that users keep
    std::deque<Chunk> outgoing;
    std::size_t outgoing_bytes = 0;
    bool finish_wanted = false;
    bool finish_passed = false;  // the end was passed to the connection
    bool delivered = false;
    std::optional<Error> write_error;
    std::optional<std::uint64_t> reset_due;  // code of a reset to pass to the connection

    // For ordered streams.
    std::deque<Chunk> incoming;
    std::size_t incoming_bytes = 0;
    bool readable = false;  // the connection has more bytes

    // For placed streams.
    stream::BlockFiller placed;
    std::deque<Piece> pieces;
    std::uint64_t release_due = 0;  // bytes read, for which the connection may give credit

    bool ended = false;  // the connection has handed over all bytes
    std::optional<Error> read_error;
    std::optional<std::uint64_t> stop_due;  // code of a stop to pass to the connection

    // False: the peer opened it and the user has not taken it yet; its bytes stay under flow control.
    bool accepted = true;
    bool abandoned = false;  // no handle exists any more

    void drop_outgoing() {
        outgoing.clear();
        outgoing_bytes = 0;
    }
    /// True if the connection has no more part in this stream.
    [[nodiscard]] bool over() const noexcept {
        const bool sent = (delivered || write_error) && !reset_due;
        const bool received = (ended || read_error) && !stop_due && release_due == 0 && pieces.empty();
        return sent && received;
    }
};

// The streams of a session. Carries out users' requests on the connection, and stores received bytes for the users.

/// Runs on the protocol thread, under SessionState's mutex, unless a comment says otherwise.
class SessionStreams {
  public:
    using StreamPtr = std::shared_ptr<SessionStream>;

    /// Adds a stream that this side opened.
    StreamPtr add(StreamId id);
    /// Adds a stream that the peer opened. `acceptable`: accept() may return it.
    void open(StreamId id, bool acceptable);
    /// Returns a stream that the peer opened, or null if there is none. Any thread may call it, under the mutex.
    [[nodiscard]] StreamPtr accept(StreamKind kind);

    void place(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes);
    void serve(proto::Connection& connection);
    void handle(proto::Connection& connection, const proto::event::Readable& event);
    void handle(proto::Connection& connection, const proto::event::Writable& event);
    void handle(proto::Connection& connection, const proto::event::StreamReceived& event);
    void handle(proto::Connection& connection, const proto::event::StreamDelivered& event);
    void handle(proto::Connection& connection, const proto::event::StreamReset& event);
    void handle(proto::Connection& connection, const proto::event::StreamStopped& event);
    /// The connection is closed. `wanted`: users may still read the received bytes.
    void end(proto::Connection& connection, bool wanted);

  private:
    void serve(proto::Connection& connection, SessionStream& stream);
    void pump_out(proto::Connection& connection, SessionStream& stream);
    void pump_in(proto::Connection& connection, SessionStream& stream, std::size_t most);
    void give_up_reading(proto::Connection& connection, SessionStream& stream);
    void forget_if_over(StreamId id);
    [[nodiscard]] StreamPtr find(StreamId id) const;

    std::unordered_map<StreamId, StreamPtr> streams_;
    std::deque<StreamPtr> acceptable_;
};

}  // namespace udtx::io
