// The cipher work of packets on its own: what threads beside the protocol thread may do for it. Free of state.
#pragma once

#include <cstddef>
#include <span>

#include "crypto/provider.hpp"
#include "proto/types.hpp"

namespace udtx::proto {

/// Seals every packet of a batch whose key is set; `aead` is one of the key's, and no other thread uses it meanwhile.
void seal_batch(const Transmit& transmit, std::span<std::byte> batch, crypto::Aead& aead);

/// Opens the packet in place and notes what came of it; leaves one alone that `opening` is not for. `aead` as above.
void open_packet(const Opening& opening, RxDatagram& datagram, crypto::Aead& aead);

}  // namespace udtx::proto
