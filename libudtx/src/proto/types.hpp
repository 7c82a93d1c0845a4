// What goes in and out of the protocol core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "crypto/packet_key.hpp"
#include "udtx/address.hpp"
#include "udtx/ids.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::proto {

/// What it takes to open packets of one connection, path and key phase beside the protocol thread ...
struct Opening {
    ConnectionId destination{};
    PathId path{};
    bool key_phase = false;
    crypto::PacketKeyPtr key;
    PacketNumber expected = 0;  ///< about the number of the next packet
};
/// ... and what came of it (proto/lane_work.hpp).
struct Opened {
    const crypto::PacketKey* key = nullptr;
    PacketNumber number = 0;
    bool authentic = false;
};

/// One received datagram. The core opens packets in place: `data` is overwritten.
struct RxDatagram {
    Address local;
    Address remote;
    std::span<std::byte> data;
    std::optional<Instant> received;  ///< kernel receive stamp
    bool coalesced = false;           ///< part of a GRO batch: the stamp is the batch's
    std::optional<Opened> opened{};   ///< what a lane has done to it
};

/// A batch of datagrams for one destination: `segment` bytes each, the last one possibly shorter.
struct Transmit {
    Address local;  ///< Family::none: any
    Address remote;
    ConnectionId connection{};  ///< of the sender's end, for on_datagram_too_large()
    PathId path{};
    std::uint32_t interface_index = 0;  ///< to leave by; 0: as the routes say
    std::size_t size = 0;
    std::size_t segment = 0;
    bool may_batch = true;   ///< false: a packet-pair member, to be sent on its own
    bool mtu_probe = false;  ///< too large for the path is expected: EMSGSIZE is not an error
    /// Not null: still to be sealed with this key, see proto/lane_work.hpp.
    crypto::PacketKeyPtr key{};
    PacketNumber first_number = 0;  ///< of the batch; only with a key
};

struct CloseReason {
    ErrorCode code = ErrorCode::internal;  ///< what it means to us
    bool by_peer = false;
    bool application = false;     ///< wire_code is the application's
    std::uint64_t wire_code = 0;  ///< 0 and application: an orderly end
    std::string message;
    [[nodiscard]] bool orderly() const noexcept { return application && wire_code == 0; }
};

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

/// Takes pieces of placed streams at the moment their packet is opened; the bytes are only valid during the call.
/// Each byte of a stream is handed over once.
class PlacedSink {
  public:
    virtual ~PlacedSink() = default;
    virtual void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

}  // namespace udtx::proto
