// What a connection tells its program.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "udtx/address.hpp"
#include "udtx/close_reason.hpp"
#include "udtx/ids.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

using udtx::CloseReason;

/// Events of a connection.
namespace event {

/// The handshake has finished: streams may carry data.
struct Connected {};
/// The peer has opened a stream.
struct StreamOpened {
    StreamId id;  ///< which stream
};
/// Ordered: read() will give bytes or the end.
struct Readable {
    StreamId id;  ///< which stream
};
/// write_capacity() was 0 and is not any more.
struct Writable {
    StreamId id;  ///< which stream
};
/// Placed: every byte has been handed over.
struct StreamReceived {
    StreamId id;             ///< which stream
    std::uint64_t size = 0;  ///< its bytes
};
/// The peer has acknowledged all our bytes and the end.
struct StreamDelivered {
    StreamId id;  ///< which stream
};
/// The peer gave up sending.
struct StreamReset {
    StreamId id;             ///< which stream
    std::uint64_t code = 0;  ///< of the program at the other end
};
/// The peer gave up receiving.
struct StreamStopped {
    StreamId id;             ///< which stream
    std::uint64_t code = 0;  ///< of the program at the other end
};
/// The address of the peer has changed (NAT), and the new one is validated.
struct PeerMoved {
    PathId path;   ///< on which path
    Address from;  ///< the old address
    Address to;    ///< the new address
};
/// The state of a path has changed.
using PathChanged = PathEvent;
/// The connection has ended. The last event.
struct Closed {
    CloseReason reason;  ///< why
};

}  // namespace event

/// Any event.
using Event = std::variant<event::Connected, event::StreamOpened, event::Readable, event::Writable,
                           event::StreamReceived, event::StreamDelivered, event::StreamReset, event::StreamStopped,
                           event::PeerMoved, event::PathChanged, event::Closed>;

}  // namespace udtx::proto
