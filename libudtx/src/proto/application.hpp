// The application's side of a connection. The driver (or the simulator) calls it on the protocol thread.
#pragma once

#include <functional>

#include "udtx/core/connection.hpp"

namespace udtx::proto {

class ConnectionHandler : public PieceSink {
  public:
    /// Reports every event of poll_event(), in order. Closed is the last call.
    virtual void on_event(Instant now, Connection& connection, const Event& event) = 0;
    /// The Waker was called since the last on_wake().
    virtual void on_wake(Instant now, Connection& connection) = 0;
    /// Nothing can be sent to any of the peer's addresses, or all of them refuse it. The attempt continues, because a
    /// byte stream is still to come.
    virtual void on_refused(Instant /*now*/, Connection& /*connection*/, const Error& /*why*/) {}
    /// All events and pieces of a batch of datagrams were reported. Threads that wait for them may be woken.
    virtual void on_turn_end() {}
};

/// May be called from any thread. It leads to one on_wake() soon; several calls may lead to a single one. It may also
/// be called after the connection is gone.
using Waker = std::function<void()>;

}  // namespace udtx::proto
