// A UDP socket before there is anything to serve on it.
#pragma once

#include <string>

#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// What arrives waits in the socket until it is given to a listener, a server or a transfer (`socket` in their
/// options).
struct BoundSocket {
    UniqueFd fd;
    Address local{};              ///< with the port that the system has picked
    std::string buffer_advice{};  ///< names the setting where the system grants smaller buffers than asked; else empty
};
/// Port 0 picks a free one. A socket of [::] takes IPv4 too. network: there is no such address here, or the port is
/// taken.
[[nodiscard]] UDTX_EXPORT Result<BoundSocket> bind_udp(const Address& address);

}  // namespace udtx
