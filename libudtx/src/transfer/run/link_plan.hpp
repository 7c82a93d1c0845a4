// From what a program says of the other end to addresses, and from its settings to those of a driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/driver.hpp"
#include "io/protocol_thread.hpp"
#include "proto/path_context.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

/// What to dial: the paths that were asked for, or else the host's addresses. Asks for names, and blocks. network: the
/// name is not known, or no path is there now; invalid_argument: a path that this host cannot have.
[[nodiscard]] Result<std::vector<proto::PathAddresses>> plan_ways(const std::string& host, std::uint16_t port,
                                                                  const DialOptions& dial);

[[nodiscard]] io::Driver::Options driver_options(const LinkOptions& link);

/// A receiver gives a piece of a file back when all of it has come: each window has room for two.
[[nodiscard]] TransportConfig transport_config(const LinkOptions& link);

}  // namespace udtx::transfer
