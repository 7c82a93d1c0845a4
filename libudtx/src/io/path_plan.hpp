// From paths as people name them to addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "io/driver.hpp"
#include "udtx/core/path.hpp"
#include "udtx/interfaces.hpp"
#include "udtx/path.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// invalid_argument: nobody listens on port 0.
[[nodiscard]] Result<void> check_port(std::uint16_t remote);

/// `remotes`: the addresses of the session's host, in order of preference, at least one. May ask for names, and block.
/// invalid_argument: "LOCAL: what is wrong with it".
[[nodiscard]] Result<proto::PathAddresses> plan_path(const PathRequest& path, const std::vector<Interface>& interfaces,
                                                     const std::vector<Address>& remotes, AddressChoice choice);

/// A socket that reaches all of `ways`; those it cannot reach are taken out.
[[nodiscard]] Result<void> open_socket_for(Driver& driver, std::vector<proto::PathAddresses>& ways);

/// What is left of `ways` to open, once a connection was made over one of them.
[[nodiscard]] std::vector<proto::PathAddresses> other_ways(const PathStats& first,
                                                           std::vector<proto::PathAddresses> ways);

}  // namespace udtx::io
