// The streams of a session. Carries out users' requests on the connection, and stores received bytes for the users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>

#include "io/session_stream.hpp"
#include "proto/application.hpp"

namespace udtx::io {

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
