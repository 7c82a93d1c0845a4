// Events that a connection reports to its program.
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

/// The handshake has finished. Streams may now carry data.
struct Connected {};
/// The peer has opened a stream.
struct StreamOpened {
    StreamId id;  ///< which stream
};
/// Ordered streams: read() will return bytes or the end.
struct Readable {
    StreamId id;  ///< which stream
};
/// write_capacity() was 0 and is now above 0.
struct Writable {
    StreamId id;  ///< which stream
};
/// Placed streams: every byte has been passed to the program.
struct StreamReceived {
    StreamId id;             ///< which stream
    std::uint64_t size = 0;  ///< size of the stream, bytes
};
/// The peer has acknowledged all bytes of this end, and the end of the stream.
struct StreamDelivered {
    StreamId id;  ///< which stream
};
/// The peer aborted sending.
struct StreamReset {
    StreamId id;             ///< which stream
    std::uint64_t code = 0;  ///< code from the peer's program
};
/// The peer aborted receiving.
struct StreamStopped {
    StreamId id;             ///< which stream
    std::uint64_t code = 0;  ///< code from the peer's program
};
/// The peer's address has changed (NAT), and the new one is validated.
struct PeerMoved {
    PathId path;   ///< on which path
    Address from;  ///< the old address
    Address to;    ///< the new address
};
/// The state of a path has changed.
using PathChanged = PathEvent;
/// The connection has ended. This is the last event.
struct Closed {
    CloseReason reason;  ///< why
};

}  // namespace event

/// Any event.
using Event = std::variant<event::Connected, event::StreamOpened, event::Readable, event::Writable,
                           event::StreamReceived, event::StreamDelivered, event::StreamReset, event::StreamStopped,
                           event::PeerMoved, event::PathChanged, event::Closed>;

}  // namespace udtx::proto
