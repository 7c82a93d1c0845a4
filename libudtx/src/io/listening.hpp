// Sockets for programs that listen: one address, or several protocol threads on one port.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "io/driver.hpp"
#include "io/protocol_thread.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

// Opens the socket for the address on which a program wants to listen.

/// Opens `socket`. If there is none, opens the first address of `listen` ("host:port", "[v6]:port", ":port") that
/// works. Resolves names and blocks. If all fail, it prefers the error of an address that this host has.
[[nodiscard]] Result<void> open_to_listen(Driver& driver, const std::string& listen, AddressChoice choice,
                                          UniqueFd socket);

/// Listens on TCP addresses ("host:port", "[v6]:port", ":port", kSamePort) for byte streams that carry datagrams.
/// Returns their ports. Call it before the driver runs. Resolves names and blocks.
[[nodiscard]] Result<std::vector<std::uint16_t>> listen_tcp(Driver& driver, const std::vector<std::string>& where);

// One port on which several protocol threads listen, each with its own socket.

inline constexpr std::size_t kMaxProtocolThreads = 16;
/// File descriptors of a protocol thread: socket, event, statistics.
inline constexpr std::size_t kDescriptorsOfThread = 3;

struct SharedPort {
    const Credentials& credentials;
    const TransportConfig& config;  ///< max_memory is for all threads together
    Driver::Options options;
    std::size_t threads = 1;  ///< 1 to kMaxProtocolThreads; only one is used if the system cannot share a port
    const std::string& listen;
    AddressChoice choice = AddressChoice::any;
    UniqueFd socket;  ///< a bound socket to use instead
};

/// Opens the port. The first thread binds it alone, which detects another program on that port; then the others join.
/// The kernel delivers each datagram to the thread of its connection (io/socket_setup.hpp). A thread passes on
/// datagrams of other threads. Addresses and errors are those of open_to_listen().
[[nodiscard]] Result<std::vector<std::shared_ptr<ProtocolThread>>> open_shared(SharedPort port);

}  // namespace udtx::io
