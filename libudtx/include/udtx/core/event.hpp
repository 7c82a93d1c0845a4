// What a connection tells its application.
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

namespace event {
struct Connected {};  ///< handshake finished, streams may carry data
struct StreamOpened {
    StreamId id;
};  ///< by the peer
struct Readable {
    StreamId id;
};  ///< ordered: read() will give bytes or the end
struct Writable {
    StreamId id;
};  ///< write_capacity() grew after it had been 0
struct StreamReceived {
    StreamId id;
    std::uint64_t size = 0;
};  ///< placed: every byte has been handed over
struct StreamDelivered {
    StreamId id;
};  ///< all our bytes and the end are acknowledged
struct StreamReset {
    StreamId id;
    std::uint64_t code = 0;
};  ///< the peer gave up sending
struct StreamStopped {
    StreamId id;
    std::uint64_t code = 0;
};  ///< the peer gave up receiving
struct PeerMoved {
    PathId path;
    Address from;
    Address to;
};  ///< NAT rebinding, validated
using PathChanged = PathEvent;
struct Closed {
    CloseReason reason;
};  ///< the last event
}  // namespace event

using Event = std::variant<event::Connected, event::StreamOpened, event::Readable, event::Writable,
                           event::StreamReceived, event::StreamDelivered, event::StreamReset, event::StreamStopped,
                           event::PeerMoved, event::PathChanged, event::Closed>;

}  // namespace udtx::proto
