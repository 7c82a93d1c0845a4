// The cipher work of packets on its own: what threads beside the protocol thread, the lanes, may do for it. Free of
// state. A worker is the protocol thread, 0, or a lane, 1 to EndpointDeps::lanes; one worker does one thing at a time.
#pragma once

#include <cstddef>
#include <span>

#include "udtx/core/datagram.hpp"
#include "udtx/export.hpp"

namespace udtx::proto {

/// Seals every packet of a batch whose key is set.
UDTX_EXPORT void seal_batch(const Transmit& transmit, std::span<std::byte> batch, std::size_t worker);

/// Opens the packet in place and notes what came of it; leaves one alone that `opening` is not for.
UDTX_EXPORT void open_packet(const Opening& opening, RxDatagram& datagram, std::size_t worker);

}  // namespace udtx::proto
