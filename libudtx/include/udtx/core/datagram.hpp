// Datagrams that the core receives and sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "udtx/address.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::proto {

/// Data with which a packet thread decrypts packets of one connection, path and key phase (udtx/core/datagram.hpp).
struct Opening {
    ConnectionId destination{};  ///< connection id in the packets
    PathId path{};               ///< path of the packets
    bool key_phase = false;      ///< key phase of the packets
    crypto::PacketKeyPtr key;    ///< key that decrypts them
    PacketNumber expected = 0;   ///< approximate number of the next packet
};
/// Result of a packet thread's decryption of one packet.
struct Opened {
    const crypto::PacketKey* key = nullptr;  ///< key that decrypted the packet
    PacketNumber number = 0;                 ///< full packet number
    bool authentic = false;                  ///< true: the tag matches
};

/// The ECN field of an IP header (RFC 3168, section 5).
enum class Ecn : std::uint8_t {
    not_ect = 0,  ///< routers must not mark the packet
    ect1 = 1,     ///< ECT(1)
    ect0 = 2,     ///< ECT(0): routers may mark the packet instead of dropping it
    ce = 3,       ///< a router marked the packet, because its queue is too long
};

/// A received datagram. The core decrypts it in place.
struct RxDatagram {
    Address local;                    ///< destination address; Family::none: unknown
    Address remote;                   ///< source address
    std::span<std::byte> data;        ///< UDP payload
    std::optional<Instant> received;  ///< receive time stamp of the kernel
    bool coalesced = false;           ///< true: `received` belongs to a whole batch (GRO)
    std::optional<Opened> opened{};   ///< result of the packet thread that decrypted the datagram, if one did
    Ecn ecn = Ecn::not_ect;           ///< ECN field of the IP header
};

/// A batch of datagrams to one destination.
struct Transmit {
    Address local;                      ///< source address; Family::none: the routing table decides
    Address remote;                     ///< destination address
    ConnectionId connection{};          ///< Connection::local_id() of the connection
    PathId path{};                      ///< path of the connection
    std::uint32_t interface_index = 0;  ///< outgoing interface; 0: the routing table decides
    std::size_t size = 0;               ///< bytes of all datagrams
    std::size_t segment = 0;            ///< bytes of each datagram; the last one may be shorter
    bool may_batch = true;   ///< true: one system call may send the batch; false: a probe, whose spacing matters
    bool mtu_probe = false;  ///< true: the datagram may be too large for the path; ignore EMSGSIZE
    Ecn ecn = Ecn::not_ect;  ///< ECN field of all datagrams
    /// Not null: the batch is not encrypted yet, call seal_batch() (udtx/core/datagram.hpp).
    crypto::PacketKeyPtr key{};
    PacketNumber first_number = 0;  ///< packet number of the first datagram; only with `key`
};

// The encryption and decryption of packets, which packet threads may do beside the protocol thread. Thread 0 is the
// protocol thread; 1 to EndpointDeps::packet_threads are packet threads. Each thread runs one call at a time.

/// Encrypts every packet of a batch whose Transmit::key is set.
UDTX_EXPORT void seal_batch(const Transmit& transmit, std::span<std::byte> batch, std::size_t thread);

/// Decrypts a packet in place, and sets RxDatagram::opened. A packet that does not match `opening` stays unchanged.
UDTX_EXPORT void open_packet(const Opening& opening, RxDatagram& datagram, std::size_t thread);

}  // namespace udtx::proto
