// Datagrams that enter and leave the core.
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

/// What a lane needs to open packets of one connection, path and key phase (udtx/core/lane_work.hpp).
struct Opening {
    ConnectionId destination{};  ///< of the packets
    PathId path{};               ///< of the packets
    bool key_phase = false;      ///< of the packets
    crypto::PacketKeyPtr key;    ///< that opens them
    PacketNumber expected = 0;   ///< near the number of the next packet
};
/// What a lane has found out about a packet.
struct Opened {
    const crypto::PacketKey* key = nullptr;  ///< by which it was opened
    PacketNumber number = 0;                 ///< its full number
    bool authentic = false;                  ///< its tag matches
};

/// A received datagram. The core decrypts it in place.
struct RxDatagram {
    Address local;                    ///< where it came to; Family::none: unknown
    Address remote;                   ///< whence it came
    std::span<std::byte> data;        ///< UDP payload
    std::optional<Instant> received;  ///< receive stamp of the kernel
    bool coalesced = false;           ///< `received` is that of a batch (GRO)
    std::optional<Opened> opened{};   ///< set by a lane
};

/// A batch of datagrams to one destination.
struct Transmit {
    Address local;                      ///< where they leave from; Family::none: as the routes say
    Address remote;                     ///< where they go
    ConnectionId connection{};          ///< Connection::local_id()
    PathId path{};                      ///< of the connection
    std::uint32_t interface_index = 0;  ///< by which they leave; 0: as the routes say
    std::size_t size = 0;               ///< bytes of all datagrams
    std::size_t segment = 0;            ///< bytes of each datagram; the last one may be shorter
    bool may_batch = true;              ///< they may leave in one system call; false: a probe, whose spacing matters
    bool mtu_probe = false;             ///< it may be too large for the path: ignore EMSGSIZE
    crypto::PacketKeyPtr key{};         ///< not null: seal_batch() has yet to seal them (udtx/core/lane_work.hpp)
    PacketNumber first_number = 0;      ///< of the batch; only with a key
};

}  // namespace udtx::proto
