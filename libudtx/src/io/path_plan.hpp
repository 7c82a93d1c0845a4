// From paths as people name them to addresses.
#pragma once

#include <cstdint>
#include <string>
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

/// The addresses to dial: `given`, or those of the host where that is empty. A host without a name is this one. Asks
/// for the name, and blocks. network: it is not known; invalid_argument: port 0.
[[nodiscard]] Result<std::vector<Address>> peer_addresses(const std::string& host, std::uint16_t port,
                                                          AddressChoice choice, std::vector<Address> given);

/// What to dial: `paths`, or where there are none `remotes` one after another. The first is no standby if all are.
/// invalid_argument: a path that this host cannot have. `skip_absent`: those are left out; network: none is there now.
[[nodiscard]] Result<std::vector<proto::PathAddresses>> plan_ways(const std::vector<PathRequest>& paths,
                                                                  const std::vector<Address>& remotes,
                                                                  AddressChoice choice, bool skip_absent);

/// A socket that reaches all of `ways`; those it cannot reach are taken out.
[[nodiscard]] Result<void> open_socket_for(Driver& driver, std::vector<proto::PathAddresses>& ways);

/// What is left of `ways` to open, once a connection was made over one of them.
[[nodiscard]] std::vector<proto::PathAddresses> other_ways(const PathStats& first,
                                                           std::vector<proto::PathAddresses> ways);

}  // namespace udtx::io
