// The cipher work of packets, which lanes may do: threads beside the protocol thread. Worker 0 is the protocol thread,
// workers 1 to EndpointDeps::lanes are the lanes. Each worker does one thing at a time.
#pragma once

#include <cstddef>
#include <span>

#include "udtx/core/datagram.hpp"
#include "udtx/export.hpp"

namespace udtx::proto {

/// Seals every packet of a batch whose Transmit::key is set.
UDTX_EXPORT void seal_batch(const Transmit& transmit, std::span<std::byte> batch, std::size_t worker);

/// Opens a packet in place, and sets RxDatagram::opened. A packet that `opening` is not for stays as it is.
UDTX_EXPORT void open_packet(const Opening& opening, RxDatagram& datagram, std::size_t worker);

}  // namespace udtx::proto
