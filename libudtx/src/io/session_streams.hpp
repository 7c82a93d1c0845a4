// The streams of a session: what users want of each is carried out on the connection, and what comes is kept for them.
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

/// Protocol thread, under SessionState's mutex, but for what says otherwise.
class SessionStreams {
  public:
    using StreamPtr = std::shared_ptr<SessionStream>;

    /// We opened it.
    StreamPtr add(StreamId id);
    /// The peer opened it. `acceptable`: for accept().
    void open(StreamId id, bool acceptable);
    /// Any thread, under the mutex: one that the peer opened; null: there is none.
    [[nodiscard]] StreamPtr accept(StreamKind kind);

    void place(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes);
    void serve(proto::Connection& connection);
    void handle(proto::Connection& connection, const proto::event::Readable& event);
    void handle(proto::Connection& connection, const proto::event::Writable& event);
    void handle(proto::Connection& connection, const proto::event::StreamReceived& event);
    void handle(proto::Connection& connection, const proto::event::StreamDelivered& event);
    void handle(proto::Connection& connection, const proto::event::StreamReset& event);
    void handle(proto::Connection& connection, const proto::event::StreamStopped& event);
    /// The connection is over. `wanted`: users may still read what has come.
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
