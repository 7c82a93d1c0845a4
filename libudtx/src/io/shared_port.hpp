// One port that several protocol threads listen to, each with a socket of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "io/protocol_thread.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/resolve.hpp"

namespace udtx::io {

inline constexpr std::size_t kMaxProtocolThreads = 16;
/// That a protocol thread holds: socket, epoll, event, timer, its statistics.
inline constexpr std::size_t kDescriptorsOfThread = 5;

struct SharedPort {
    const Credentials& credentials;
    const TransportConfig& config;  ///< max_memory is that of all threads together
    Driver::Options options;
    std::size_t threads = 1;  ///< 1 to kMaxProtocolThreads; one where the system does not let them share a port
    const std::string& listen;
    AddressChoice choice = AddressChoice::any;
    UniqueFd socket;  ///< a bound one to use instead, by one thread
};

/// Opens the port: the first thread alone may have it, so that a program that has it already is found, and then the
/// others join. The kernel brings each datagram to the thread of its connection (io/steering.hpp); what comes to
/// another one, it passes on. As open_to_listen().
[[nodiscard]] Result<std::vector<std::shared_ptr<ProtocolThread>>> open_shared(SharedPort port);

}  // namespace udtx::io
