// POSIX sockets, one datagram per system call: for systems without batches, and to separate our faults from the
// kernel's.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/chunk.hpp"
#include "io/addresses.hpp"
#include "io/socket_setup.hpp"
#include "io/udp_socket.hpp"

namespace udtx::io {
namespace {

/// Room for one control message with an int, or for the small ones of a received datagram.
struct alignas(cmsghdr) SmallControl {
    std::byte bytes[128];
};

msghdr message_of(SocketAddress& name, iovec& vector, SmallControl& control, std::size_t control_bytes) noexcept {
    msghdr message{};
    message.msg_name = name.get();
    message.msg_namelen = name.length;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = static_cast<decltype(message.msg_controllen)>(control_bytes);
    return message;
}

proto::Ecn ecn_of(msghdr& message) noexcept {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (const auto ecn = read_ecn(*header)) return *ecn;
    }
    return proto::Ecn::not_ect;
}

class PortableSocket final : public DatagramSocket {
  public:
    explicit PortableSocket(BoundSocket socket) : socket_(std::move(socket)), memory_(make_page_block(kBatch * kSlot)) {
        request_ecn(socket_.fd.get(), socket_.family);
    }

    Address local_address() const override { return socket_.local; }
    int native_handle() const override { return socket_.fd.get(); }
    std::span<proto::RxDatagram> receive() override;
    int receive_error() const noexcept override { return receive_error_; }
    SendResult send(const proto::Transmit& transmit, std::span<const std::byte> bytes) override;
    std::vector<Refusal> take_refusals() override { return {}; }  // an unconnected POSIX socket gets no reports
    std::string buffer_advice() const override { return socket_.buffers.advice(); }

  private:
    static constexpr std::size_t kBatch = 16;
    static constexpr std::size_t kSlot = 65536;

    [[nodiscard]] ssize_t send_one(const proto::Transmit& transmit, SocketAddress& to,
                                   std::span<const std::byte> bytes) const;

    BoundSocket socket_;
    PageBlock memory_;
    std::array<proto::RxDatagram, kBatch> datagrams_;
    int receive_error_ = 0;
};

std::span<proto::RxDatagram> PortableSocket::receive() {
    receive_error_ = 0;
    std::size_t count = 0;
    for (int reported = 0; count < kBatch && reported < 8;) {
        const std::span<std::byte> slot(memory_.get() + count * kSlot, kSlot);
        SocketAddress from;
        from.length = sizeof from.storage;
        iovec vector{slot.data(), slot.size()};
        SmallControl control;
        msghdr message = message_of(from, vector, control, sizeof control.bytes);
        const ssize_t size = ::recvmsg(socket_.fd.get(), &message, 0);
        if (size < 0) {
            if (errno != EINTR && !is_reported_icmp(errno)) {
                if (!is_would_block(errno)) receive_error_ = errno;
                break;
            }
            ++reported;
            continue;
        }
        proto::RxDatagram& datagram = datagrams_[count];
        datagram = {};
        datagram.local = socket_.reply_from();
        datagram.remote = from_socket_address(from.get(), message.msg_namelen);
        datagram.ecn = ecn_of(message);
        datagram.data = slot.first(static_cast<std::size_t>(size));
        if (datagram.remote.family != Address::Family::none) ++count;
    }
    return std::span(datagrams_).first(count);
}

// Some systems take no IPv4 option on an IPv6 socket. Then the datagram leaves without a mark, and the sender stops to
// mark, because the peer counts none.
ssize_t PortableSocket::send_one(const proto::Transmit& transmit, SocketAddress& to,
                                 std::span<const std::byte> bytes) const {
    const bool v6 = socket_.family == AF_INET6;
    const bool marked = transmit.ecn != proto::Ecn::not_ect && v6 == (transmit.remote.family == Address::Family::v6);
    if (!marked) return ::sendto(socket_.fd.get(), bytes.data(), bytes.size(), 0, to.get(), to.length);
    const int field = static_cast<int>(transmit.ecn);
    iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    SmallControl control{};
    msghdr message = message_of(to, vector, control, CMSG_SPACE(sizeof field));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    header->cmsg_type = v6 ? IPV6_TCLASS : IP_TOS;
    header->cmsg_len = CMSG_LEN(sizeof field);
    std::memcpy(CMSG_DATA(header), &field, sizeof field);
    return ::sendmsg(socket_.fd.get(), &message, 0);
}

SendResult PortableSocket::send(const proto::Transmit& transmit, std::span<const std::byte> bytes) {
    SendResult result;
    SocketAddress to = to_socket_address(transmit.remote, socket_.family);
    if (to.length == 0) return {SendResult::Status::no_route, 0, EAFNOSUPPORT};
    const std::size_t segment = transmit.segment > 0 ? transmit.segment : bytes.size();
    while (result.bytes < bytes.size()) {
        const auto part = bytes.subspan(result.bytes, std::min(segment, bytes.size() - result.bytes));
        if (send_one(transmit, to, part) >= 0) {
            result.bytes += part.size();
            continue;
        }
        if (errno == EINTR) continue;
        return send_outcome(errno, result.bytes);
    }
    return result;
}

}  // namespace

std::unique_ptr<DatagramSocket> make_portable_socket(BoundSocket socket) {
    return std::make_unique<PortableSocket>(std::move(socket));
}

}  // namespace udtx::io
