// The encryption and decryption of packets, which lanes may do. Lanes are threads beside the protocol thread. Worker 0
// is the protocol thread; workers 1 to EndpointDeps::lanes are the lanes. Each worker runs one call at a time.
#pragma once

#include <cstddef>
#include <span>

#include "udtx/core/datagram.hpp"
#include "udtx/export.hpp"

namespace udtx::proto {

/// Encrypts every packet of a batch whose Transmit::key is set.
UDTX_EXPORT void seal_batch(const Transmit& transmit, std::span<std::byte> batch, std::size_t worker);

/// Decrypts a packet in place, and sets RxDatagram::opened. A packet that does not match `opening` stays unchanged.
UDTX_EXPORT void open_packet(const Opening& opening, RxDatagram& datagram, std::size_t worker);

}  // namespace udtx::proto
