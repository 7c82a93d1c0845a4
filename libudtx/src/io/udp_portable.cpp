// POSIX sockets, one datagram per system call: for systems without batches, and to separate our faults from the
// kernel's.
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/chunk.hpp"
#include "io/addresses.hpp"
#include "io/socket_setup.hpp"
#include "io/udp_socket.hpp"

namespace udtx::io {
namespace {

class PortableSocket final : public DatagramSocket {
  public:
    explicit PortableSocket(BoundSocket socket)
        : socket_(std::move(socket)), memory_(make_page_block(kBatch * kSlot)) {}

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
        const ssize_t size = ::recvfrom(socket_.fd.get(), slot.data(), slot.size(), 0, from.get(), &from.length);
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
        datagram.remote = from_socket_address(from.get(), from.length);
        datagram.data = slot.first(static_cast<std::size_t>(size));
        if (datagram.remote.family != Address::Family::none) ++count;
    }
    return std::span(datagrams_).first(count);
}

SendResult PortableSocket::send(const proto::Transmit& transmit, std::span<const std::byte> bytes) {
    SendResult result;
    const SocketAddress to = to_socket_address(transmit.remote, socket_.family);
    if (to.length == 0) return {SendResult::Status::no_route, 0, EAFNOSUPPORT};
    const std::size_t segment = transmit.segment > 0 ? transmit.segment : bytes.size();
    while (result.bytes < bytes.size()) {
        const auto part = bytes.subspan(result.bytes, std::min(segment, bytes.size() - result.bytes));
        if (::sendto(socket_.fd.get(), part.data(), part.size(), 0, to.get(), to.length) >= 0) {
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
