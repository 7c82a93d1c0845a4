// Which protocol thread a datagram is for, where several share a port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace udtx::io {

/// The low 32 bits of its destination id, modulo the number of threads. A server's connections have ids of their thread
/// (proto::EndpointDeps). A client's HELLO names an id that the client has drawn, and its repetitions name it again:
/// all of them come to the thread that made the cookie, and that knows which proofs were used.
[[nodiscard]] std::size_t thread_of(std::span<const std::byte> datagram, std::size_t threads) noexcept;

/// Lets others bind to the port of a socket (SO_REUSEPORT).
[[nodiscard]] bool share_port(int fd) noexcept;
/// Has the kernel choose by thread_of() among the sockets of a port, in the order in which they were bound. One call
/// for any of them. False: it cannot, and its own choice has to be corrected.
bool steer_datagrams(int fd, std::size_t threads) noexcept;

}  // namespace udtx::io
