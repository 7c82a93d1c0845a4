// Opens the socket for the address on which a program wants to listen.
#pragma once

#include <string>

#include "io/driver.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// Opens `socket`. If there is none, opens the first address of `listen` ("host:port", "[v6]:port", ":port") that
/// works. Resolves names and blocks. If all fail, it prefers the error of an address that this host has.
[[nodiscard]] Result<void> open_to_listen(Driver& driver, const std::string& listen, AddressChoice choice,
                                          UniqueFd socket);

}  // namespace udtx::io
