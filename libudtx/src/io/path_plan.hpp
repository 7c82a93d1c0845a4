// Converts paths as users name them to addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/driver.hpp"
#include "udtx/address.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// Returns invalid_argument for port 0.
[[nodiscard]] Result<void> check_port(std::uint16_t remote);

/// `remotes`: the addresses of the session's host, in order of preference, at least one. May resolve names and block.
/// invalid_argument: "LOCAL: what is wrong with it".
[[nodiscard]] Result<proto::PathAddresses> plan_path(const PathRequest& path, const std::vector<Interface>& interfaces,
                                                     const std::vector<Address>& remotes, AddressChoice choice);

/// The addresses to connect to: `given`, or those of the host if `given` is empty. An empty host name means this host.
/// Resolves the name and blocks. network: the name is unknown; invalid_argument: port 0.
[[nodiscard]] Result<std::vector<Address>> peer_addresses(const std::string& host, std::uint16_t port,
                                                          AddressChoice choice, std::vector<Address> given);

/// The addresses to connect to: `paths`, or if there are none each of `remotes` in turn. If all paths are standby, the
/// first becomes a normal path. invalid_argument: this host cannot have one of the paths. `skip_absent` leaves such
/// paths out; network: none is left.
[[nodiscard]] Result<std::vector<proto::PathAddresses>> plan_paths(const std::vector<PathRequest>& paths,
                                                                   const std::vector<Address>& remotes,
                                                                   AddressChoice choice, bool skip_absent);

/// Opens a socket that reaches all of `candidates`, or a duplicate of `socket` unless it is -1, and removes those that
/// it cannot reach.
[[nodiscard]] Result<void> open_socket_for(Driver& driver, std::vector<proto::PathAddresses>& candidates,
                                           int socket = -1);

/// The rest of `candidates` to open, after a connection was made over one of them.
[[nodiscard]] std::vector<proto::PathAddresses> other_paths(const PathStats& first,
                                                            std::vector<proto::PathAddresses> candidates);

}  // namespace udtx::io
