// From where a program wants to listen to a socket.
#pragma once

#include <string>

#include "io/driver.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// Opens `socket`, or where there is none the first address of `listen` ("host:port", "[v6]:port", ":port") on which
/// one can be opened. Asks for names, and blocks. The error is of an address that this host has, if it has one.
[[nodiscard]] Result<void> open_to_listen(Driver& driver, const std::string& listen, AddressChoice choice,
                                          UniqueFd socket);

}  // namespace udtx::io
