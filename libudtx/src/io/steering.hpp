// Selects the protocol thread of a datagram if several threads share a port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace udtx::io {

/// The low 32 bits of the destination id, modulo the number of threads. The ids of a server's connections select their
/// thread (proto::EndpointDeps). A client draws an id for its HELLO and repeats it, so all its HELLOs reach the same
/// thread. That thread made the cookie and knows which proofs were used.
[[nodiscard]] std::size_t thread_of(std::span<const std::byte> datagram, std::size_t threads) noexcept;

/// Lets other sockets bind to the port of this socket (SO_REUSEPORT).
[[nodiscard]] bool share_port(int fd) noexcept;
/// Makes the kernel choose among the sockets of a port by thread_of(), in the order in which they were bound. One call
/// for any of them is enough. False: the kernel cannot, and the threads must pass datagrams on.
bool steer_datagrams(int fd, std::size_t threads) noexcept;

}  // namespace udtx::io
