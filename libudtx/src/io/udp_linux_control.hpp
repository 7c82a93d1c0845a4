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

/// A buffer for control messages, aligned for cmsghdr.
struct alignas(cmsghdr) ControlBuffer {
    std::byte bytes[kControlBytes];
};

struct ReceiveControl {
    std::size_t segment = 0;        ///< UDP_GRO: size of the coalesced datagrams, 0 = not coalesced
    std::optional<Duration> stamp;  ///< time of arrival, CLOCK_REALTIME
    std::optional<Address> local;   ///< port not set
};
[[nodiscard]] ReceiveControl parse_receive_control(msghdr& message) noexcept;

/// Attaches UDP_SEGMENT if `segment` is not 0. Attaches the source address if `local` has one, with the outgoing
/// interface if its index is not 0.
void build_send_control(msghdr& message, ControlBuffer& control, const Address& local, std::uint32_t interface_index,
                        std::size_t segment) noexcept;

/// Returns the ICMP error in this message of the error queue, as errno; 0 if the message is not from ICMP.
[[nodiscard]] int icmp_error(msghdr& message) noexcept;

/// Enables everything that the functions above parse. Old kernels lack some of it; then GRO never coalesces.
void enable_receive_control(int fd, int family) noexcept;

}  // namespace udtx::io
