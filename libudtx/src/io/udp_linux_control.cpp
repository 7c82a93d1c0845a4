#include "io/udp_linux_control.hpp"

#include <linux/errqueue.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "io/address_convert.hpp"
#include "io/socket_setup.hpp"
#include "io/udp_offload.hpp"

namespace udtx::io {
namespace {

template <class T>
bool read_payload(const cmsghdr& header, T& out) noexcept {
    if (header.cmsg_len < CMSG_LEN(sizeof(T))) return false;
    std::memcpy(&out, CMSG_DATA(const_cast<cmsghdr*>(&header)), sizeof(T));
    return true;
}

bool is_kind(const cmsghdr& header, int level, int type) noexcept {
    return header.cmsg_level == level && header.cmsg_type == type;
}

void read_one(const cmsghdr& header, ReceiveControl& out) noexcept {
    if (int size = 0; is_kind(header, IPPROTO_UDP, UDP_GRO) && read_payload(header, size) && size > 0) {
        out.segment = static_cast<std::size_t>(size);
    }
    if (timespec stamp{}; is_kind(header, SOL_SOCKET, SCM_TIMESTAMPNS) && read_payload(header, stamp)) {
        out.stamp = std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec);
    }
    if (in_pktinfo info{}; is_kind(header, IPPROTO_IP, IP_PKTINFO) && read_payload(header, info)) {
        // The source address for replies. It differs from ipi_addr only for broadcasts.
        out.local = make_address(info.ipi_spec_dst, 0);
    }
    if (in6_pktinfo info{}; is_kind(header, IPPROTO_IPV6, IPV6_PKTINFO) && read_payload(header, info)) {
        const std::uint32_t scope = IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr) ? info.ipi6_ifindex : 0;
        const Address local = make_address(info.ipi6_addr, 0, scope);
        if (!out.local || local.family == Address::Family::v6) out.local = local;
    }
}

/// Appends one control message.
template <class T>
void append(msghdr& message, ControlBuffer& control, int level, int type, const T& payload) noexcept {
    std::byte* at = control.bytes + message.msg_controllen;
    std::memset(at, 0, CMSG_SPACE(sizeof(T)));
    auto* header = reinterpret_cast<cmsghdr*>(at);
    header->cmsg_level = level;
    header->cmsg_type = type;
    header->cmsg_len = CMSG_LEN(sizeof(T));
    std::memcpy(CMSG_DATA(header), &payload, sizeof(T));
    message.msg_control = control.bytes;
    message.msg_controllen += CMSG_SPACE(sizeof(T));
}

}  // namespace

ReceiveControl parse_receive_control(msghdr& message) noexcept {
    ReceiveControl result;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        read_one(*header, result);
    }
    return result;
}

void build_send_control(msghdr& message, ControlBuffer& control, const Address& local, std::uint32_t interface_index,
                        std::size_t segment) noexcept {
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    if (segment > 0) append(message, control, IPPROTO_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(segment));
    if (local.family == Address::Family::v4) {
        in_pktinfo info{};
        std::memcpy(&info.ipi_spec_dst, local.ip.data(), 4);
        info.ipi_ifindex = static_cast<int>(interface_index);
        append(message, control, IPPROTO_IP, IP_PKTINFO, info);
    } else if (local.family == Address::Family::v6) {
        in6_pktinfo info{};
        std::memcpy(&info.ipi6_addr, local.ip.data(), 16);
        info.ipi6_ifindex = interface_index != 0 ? interface_index : local.scope;
        append(message, control, IPPROTO_IPV6, IPV6_PKTINFO, info);
    }
}

int icmp_error(msghdr& message) noexcept {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        sock_extended_err error{};
        const bool reported = is_kind(*header, IPPROTO_IP, IP_RECVERR) || is_kind(*header, IPPROTO_IPV6, IPV6_RECVERR);
        if (!reported || !read_payload(*header, error)) continue;
        const bool icmp = error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6;
        if (icmp) return static_cast<int>(error.ee_errno);
    }
    return 0;
}

void enable_receive_control(int fd, int family) noexcept {
    set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    set_option(fd, IPPROTO_UDP, UDP_GRO, 1);
    set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
    // Without it the kernel does not report ICMP "port unreachable" to an unconnected socket.
    set_option(fd, IPPROTO_IP, IP_RECVERR, 1);
    if (family != AF_INET6) return;
    set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

}  // namespace udtx::io
