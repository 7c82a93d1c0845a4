// Selects the protocol thread of a datagram if several threads share a port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/udp_socket.hpp"
#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

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

// The common parts of both kinds of UDP socket: creation, buffers, "don't fragment".

/// The requested and the granted buffer sizes, in bytes.
struct SocketBuffers {
    std::size_t wanted = 0;
    std::size_t receive = 0;
    std::size_t send = 0;

    /// Commands with which the superuser raises the limits that are too low; empty if none is.
    [[nodiscard]] std::string commands() const;
    /// See DatagramSocket::buffer_advice().
    [[nodiscard]] std::string advice() const;
};

struct BoundSocket {
    UniqueFd fd;
    int family = 0;  ///< AF_INET or AF_INET6
    Address local;
    SocketBuffers buffers;

    /// The local address of datagrams if the kernel does not report it: the bound address; Family::none for a wildcard.
    [[nodiscard]] Address reply_from() const noexcept;
};

/// Makes a socket that is non-blocking, close-on-exec, don't-fragment, dual-stack with IPv6, and bound. It has large
/// buffers.
[[nodiscard]] Result<BoundSocket> make_bound_socket(const Address& bind, const SocketOptions& options);

/// Sets an option that some systems lack. True if it was set.
bool set_option(int fd, int level, int name, int value) noexcept;

/// True for the errno values with which a send call asks to try later.
[[nodiscard]] bool is_would_block(int error) noexcept;
/// True if the errno comes from an ICMP message about an earlier datagram. The call reported it instead of doing its
/// work.
[[nodiscard]] bool is_reported_icmp(int error) noexcept;
/// True if the same call may soon succeed: no memory, no buffers, or a pending ICMP message.
[[nodiscard]] bool is_passing(int error) noexcept;

}  // namespace udtx::io
