// Translates a program's description of the other end into addresses, and its settings into those of a driver.
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

/// The paths to connect over: those that were requested, or else the host's addresses. It resolves names, and blocks.
/// network: the name is unknown, or no path exists at present. invalid_argument: this host cannot have such a path.
[[nodiscard]] Result<std::vector<proto::PathAddresses>> plan_ways(const std::string& host, std::uint16_t port,
                                                                  const DialOptions& dial);

[[nodiscard]] io::Driver::Options driver_options(const LinkOptions& link);

/// A receiver releases a piece of a file once all of it has arrived, so each window has room for two pieces.
[[nodiscard]] TransportConfig transport_config(const LinkOptions& link);

}  // namespace udtx::transfer
