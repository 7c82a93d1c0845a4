// Datagrams in and out of the protocol core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "udtx/address.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"
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
/// ... and what came of it (udtx/core/lane_work.hpp).
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
    /// Not null: still to be sealed with this key, see udtx/core/lane_work.hpp.
    crypto::PacketKeyPtr key{};
    PacketNumber first_number = 0;  ///< of the batch; only with a key
};

}  // namespace udtx::proto
