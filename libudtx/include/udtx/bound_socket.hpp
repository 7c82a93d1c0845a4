// A UDP socket that is bound before anything uses it.
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
    Address local{};              ///< bound address, with the port that the system chose
    std::string buffer_advice{};  ///< the setting to raise for larger buffers, see Transfer::buffer_advice()
};
/// Binds a UDP socket. Port 0 chooses a free one. A socket on [::] also accepts IPv4. network: this host does not have
/// the address, or the port is in use.
[[nodiscard]] UDTX_EXPORT Result<BoundSocket> bind_udp(const Address& address);

}  // namespace udtx
