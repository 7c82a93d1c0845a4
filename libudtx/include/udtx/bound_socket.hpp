// A UDP socket that is bound before something serves on it.
#pragma once

#include <string>

#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// A bound socket. Datagrams wait in it until a listener, a server or a transfer takes it (`socket` in their options).
struct BoundSocket {
    UniqueFd fd;                  ///< the socket
    Address local{};              ///< its address, with the port that the system has picked
    std::string buffer_advice{};  ///< names the setting to raise for larger buffers, see Transfer::buffer_advice()
};
/// Binds a UDP socket. Port 0 picks a free one. A socket of [::] takes IPv4 too. network: there is no such address
/// here, or the port is taken.
[[nodiscard]] UDTX_EXPORT Result<BoundSocket> bind_udp(const Address& address);

}  // namespace udtx
