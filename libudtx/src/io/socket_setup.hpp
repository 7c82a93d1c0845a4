// What both kinds of UDP socket have in common: creation, buffers, "don't fragment".
#pragma once

#include <cstddef>
#include <string>

#include "io/udp_socket.hpp"
#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// What the kernel granted of the buffers that were asked for, in bytes.
struct SocketBuffers {
    std::size_t wanted = 0;
    std::size_t receive = 0;
    std::size_t send = 0;

    /// They let the superuser raise what stands in the way; empty when nothing does.
    [[nodiscard]] std::string commands() const;
    /// See DatagramSocket::buffer_advice().
    [[nodiscard]] std::string advice() const;
};

struct BoundSocket {
    UniqueFd fd;
    int family = 0;  ///< AF_INET or AF_INET6
    Address local;
    SocketBuffers buffers;

    /// Where datagrams arrive if nothing tells more exactly: the bound address, Family::none for a wildcard.
    [[nodiscard]] Address reply_from() const noexcept;
};

/// Non-blocking, close-on-exec, don't-fragment, dual-stack when IPv6, large buffers, bound.
[[nodiscard]] Result<BoundSocket> make_bound_socket(const Address& bind, const SocketOptions& options);

/// Sets an option that not every system has; tells whether it took.
bool set_option(int fd, int level, int name, int value) noexcept;

/// errno values of send calls that say "later", not "never".
[[nodiscard]] bool is_would_block(int error) noexcept;
/// An ICMP message about some earlier datagram, reported by this call instead of doing its work.
[[nodiscard]] bool is_reported_icmp(int error) noexcept;
/// Soon the same call may be served: no memory, no buffers, an ICMP message that stood in front.
[[nodiscard]] bool is_passing(int error) noexcept;

}  // namespace udtx::io
