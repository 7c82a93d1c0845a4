// Control messages of Linux UDP sockets: GSO, GRO, receive stamps, local addresses, the error queue.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "udtx/address.hpp"
#include "udtx/time.hpp"

namespace udtx::io {

inline constexpr std::size_t kControlBytes = 256;

/// Room for control messages, aligned for cmsghdr.
struct alignas(cmsghdr) ControlBuffer {
    std::byte bytes[kControlBytes];
};

struct ReceiveControl {
    std::size_t segment = 0;        ///< UDP_GRO: size of the coalesced datagrams, 0 = not coalesced
    std::optional<Duration> stamp;  ///< CLOCK_REALTIME
    std::optional<Address> local;   ///< port not set
};
[[nodiscard]] ReceiveControl parse_receive_control(msghdr& message) noexcept;

/// Attaches UDP_SEGMENT when `segment` is not 0, and the source address when `local` has one, with the interface to
/// leave by when that is not 0.
void build_send_control(msghdr& message, ControlBuffer& control, const Address& local, std::uint32_t interface_index,
                        std::size_t segment) noexcept;

/// What ICMP says in this message of the error queue, as errno; 0: it is none of ICMP.
[[nodiscard]] int icmp_error(msghdr& message) noexcept;

/// Switches on all that the functions above parse. Old kernels lack some of it; GRO then never coalesces.
void enable_receive_control(int fd, int family) noexcept;

}  // namespace udtx::io
