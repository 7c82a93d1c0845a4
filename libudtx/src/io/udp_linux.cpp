// Linux UDP, many datagrams per system call: sendmsg with UDP_SEGMENT (GSO), recvmmsg with UDP_GRO, kernel receive
// timestamps, ICMP errors from the error queue.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

// Uses timespec without declaring it.
#include <linux/errqueue.h>

#include "base/chunk.hpp"
#include "base/thread_safety.hpp"
#include "io/addresses.hpp"
#include "io/socket_setup.hpp"
#include "io/udp_socket.hpp"
#include "udtx/address.hpp"
#include "udtx/rate.hpp"
#include "udtx/system.hpp"

namespace udtx::io {
namespace {

constexpr std::size_t kControlBytes = 256;

/// A buffer for control messages, aligned for cmsghdr.
struct alignas(cmsghdr) ControlBuffer {
    std::byte bytes[kControlBytes];
};

struct ReceiveControl {
    std::size_t segment = 0;        ///< UDP_GRO: size of the coalesced datagrams, 0 = not coalesced
    std::optional<Duration> stamp;  ///< time of arrival, CLOCK_REALTIME
    std::optional<Address> local;   ///< port not set
    proto::Ecn ecn = proto::Ecn::not_ect;
};
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
    if (const auto ecn = read_ecn(header)) out.ecn = *ecn;
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

ReceiveControl parse_receive_control(msghdr& message) noexcept {
    ReceiveControl result;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        read_one(*header, result);
    }
    return result;
}

/// Attaches UDP_SEGMENT if `segment` is not 0. Attaches the source address if the batch has one, with the outgoing
/// interface if its index is not 0. Attaches the ECN field if it is not 0.
void build_send_control(msghdr& message, ControlBuffer& control, const proto::Transmit& transmit,
                        std::uint32_t interface_index, std::size_t segment) noexcept {
    const Address& local = transmit.local;
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    if (transmit.ecn != proto::Ecn::not_ect) {
        const int field = static_cast<int>(transmit.ecn);
        const bool v6 = transmit.remote.family == Address::Family::v6;
        append(message, control, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_TCLASS : IP_TOS, field);
    }
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

/// Returns the ICMP message in this message of the error queue, with its errno; 0 if it is not from ICMP.
Refusal icmp_message(msghdr& message) noexcept {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        sock_extended_err error{};
        const bool reported = is_kind(*header, IPPROTO_IP, IP_RECVERR) || is_kind(*header, IPPROTO_IPV6, IPV6_RECVERR);
        if (!reported || !read_payload(*header, error)) continue;
        const bool icmp = error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6;
        if (!icmp) continue;
        return {.remote = {},
                .error = static_cast<int>(error.ee_errno),
                .mtu = error.ee_errno == EMSGSIZE ? error.ee_info : 0};
    }
    return {};
}

/// Enables everything that the functions above parse. Old kernels lack some of it; then GRO never coalesces.
void enable_receive_control(int fd, int family) noexcept {
    set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    set_option(fd, IPPROTO_UDP, UDP_GRO, 1);
    set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
    // Without it the kernel does not report ICMP "port unreachable" to an unconnected socket.
    set_option(fd, IPPROTO_IP, IP_RECVERR, 1);
    request_ecn(fd, family);
    if (family != AF_INET6) return;
    set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

msghdr make_message(const sockaddr* name, socklen_t name_length, iovec& vector) noexcept {
    msghdr message{};
    message.msg_name = const_cast<sockaddr*>(name);
    message.msg_namelen = name_length;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    return message;
}

/// A message to receive. The kernel writes the length of the name.
msghdr make_message(SocketAddress& from, iovec& vector, ControlBuffer& control) noexcept {
    msghdr message = make_message(from.get(), sizeof from.storage, vector);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    return message;
}

constexpr unsigned kReceiveBatch = 16;
constexpr std::size_t kSendBatch = 64;
constexpr std::size_t kBufferBytes = 65536;
/// A call may first report errors of earlier datagrams. After this many, the next call handles the rest.
constexpr int kReportedErrors = 4;
constexpr std::size_t kMaxRefusals = 64;

Duration realtime_now() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

class LinuxSocket final : public DatagramSocket {
  public:
    explicit LinuxSocket(BoundSocket socket);

    Address local_address() const override { return socket_.local; }
    int native_handle() const override { return socket_.fd.get(); }
    std::span<proto::RxDatagram> receive() override;
    int receive_error() const noexcept override { return receive_error_; }
    SendResult send(const proto::Transmit& transmit, std::span<const std::byte> bytes) override;
    std::vector<Refusal> take_refusals() override {
        const Lock lock(refusals_mutex_);
        return std::exchange(refusals_, {});
    }
    std::string buffer_advice() const override { return socket_.buffers.advice(); }

  private:
    struct Slot {
        SocketAddress from;
        iovec vector{};
        ControlBuffer control;
    };

    void prepare(std::size_t index) noexcept {
        messages_[index].msg_hdr = make_message(slots_[index].from, slots_[index].vector, slots_[index].control);
    }
    void split(std::size_t index, Instant now, Duration realtime);
    SendResult send_once(const proto::Transmit& transmit, std::span<const std::byte> bytes);
    [[nodiscard]] int send_message(const proto::Transmit& transmit, const SocketAddress& to,
                                   std::span<const std::byte> bytes, std::size_t segment);
    SendResult send_each(const proto::Transmit& transmit, const SocketAddress& to, std::span<const std::byte> bytes,
                         std::size_t segment);
    std::size_t drain_errors();

    BoundSocket socket_;
    bool gso_ = true;
    InterfaceIndices interfaces_;
    std::uint32_t interface_ = 0;  // outgoing interface of the present transmit
    PageBlock memory_;
    std::vector<Slot> slots_;
    std::array<mmsghdr, kReceiveBatch> messages_{};
    std::size_t used_ = 0;  // slots filled by the last call
    int receive_error_ = 0;
    std::vector<proto::RxDatagram> datagrams_;
    Mutex refusals_mutex_;  // sending and receiving both read the error queue
    std::vector<Refusal> refusals_ GUARDED_BY(refusals_mutex_);
};

LinuxSocket::LinuxSocket(BoundSocket socket)
    : socket_(std::move(socket)), memory_(make_page_block(kReceiveBatch * kBufferBytes)), slots_(kReceiveBatch) {
    enable_receive_control(socket_.fd.get(), socket_.family);
    for (std::size_t i = 0; i < kReceiveBatch; ++i) {
        slots_[i].vector = {memory_.get() + i * kBufferBytes, kBufferBytes};
        prepare(i);
    }
    datagrams_.reserve(kReceiveBatch * 64);
}

std::span<proto::RxDatagram> LinuxSocket::receive() {
    datagrams_.clear();
    for (std::size_t i = 0; i < used_; ++i) prepare(i);
    used_ = 0;
    receive_error_ = 0;
    int count = -1;
    for (int reported = 0; reported <= kReportedErrors; ++reported) {
        count = ::recvmmsg(socket_.fd.get(), messages_.data(), kReceiveBatch, MSG_DONTWAIT, nullptr);
        const int error = errno;
        if (count >= 0 || is_would_block(error)) break;
        if (error == EINTR || drain_errors() > 0 || is_reported_icmp(error)) continue;
        receive_error_ = error;
        break;
    }
    if (count <= 0) return {};
    used_ = static_cast<std::size_t>(count);
    // Kernel timestamps are wall-clock time. The difference of the clocks is taken for each batch, because an
    // administrator or NTP may step the wall clock at any time.
    const Instant now = monotonic_now();
    const Duration realtime = realtime_now();
    for (std::size_t i = 0; i < used_; ++i) split(i, now, realtime);
    return datagrams_;
}

/// Splits one received buffer into the datagrams that GRO coalesced.
void LinuxSocket::split(std::size_t index, Instant now, Duration realtime) {
    msghdr& header = messages_[index].msg_hdr;
    const std::size_t size = messages_[index].msg_len;
    if ((header.msg_flags & MSG_TRUNC) != 0) return;
    proto::RxDatagram datagram;
    datagram.remote = from_socket_address(slots_[index].from.get(), header.msg_namelen);
    if (datagram.remote.family == Address::Family::none) return;

    const ReceiveControl control = parse_receive_control(header);
    datagram.local = control.local.value_or(socket_.reply_from());
    if (datagram.local.family != Address::Family::none) datagram.local.port = socket_.local.port;
    if (control.stamp) {
        const Duration age = realtime - *control.stamp;
        // Outside of this range, the wall clock was stepped in between.
        if (age >= Duration::zero() && age < std::chrono::seconds(1)) datagram.received = now - age;
    }
    datagram.ecn = control.ecn;  // GRO coalesces only datagrams with the same field
    const std::size_t segment = control.segment > 0 ? control.segment : size;
    datagram.coalesced = size > segment;
    const std::span<std::byte> bytes(static_cast<std::byte*>(slots_[index].vector.iov_base), size);
    std::size_t at = 0;
    do {
        datagram.data = bytes.subspan(at, std::min(segment, size - at));
        datagrams_.push_back(datagram);
        at += segment;
    } while (at < size);
}

SendResult LinuxSocket::send(const proto::Transmit& transmit, std::span<const std::byte> bytes) {
    interface_ = interfaces_.current(transmit.interface_index);
    const SendResult result = send_once(transmit, bytes);
    if (result.error != ENODEV || result.bytes > 0 || !interfaces_.renew(transmit.interface_index)) return result;
    interface_ = interfaces_.current(transmit.interface_index);
    return send_once(transmit, bytes);
}

SendResult LinuxSocket::send_once(const proto::Transmit& transmit, std::span<const std::byte> bytes) {
    Address remote = transmit.remote;
    if (remote.scope == transmit.interface_index) remote.scope = interface_;  // a link-local address on that interface
    const SocketAddress to = to_socket_address(remote, socket_.family);
    if (to.length == 0) return {SendResult::Status::no_route, 0, EAFNOSUPPORT};
    const std::size_t segment = transmit.segment > 0 ? transmit.segment : bytes.size();
    if (bytes.size() <= segment) {
        const int error = send_message(transmit, to, bytes, 0);
        return send_outcome(error, error == 0 ? bytes.size() : 0);
    }
    if (!gso_) return send_each(transmit, to, bytes, segment);

    const int error = send_message(transmit, to, bytes, segment);
    if (error != EIO && error != EINVAL) return send_outcome(error, error == 0 ? bytes.size() : 0);
    // GSO does not work here (EIO: no checksum offload), or the segments are larger than the interface takes (EINVAL in
    // kernels before 6.15). Sending a single segment tells which.
    const auto first = bytes.first(segment);
    if (const int single = send_message(transmit, to, first, 0); single != 0) return send_outcome(single, 0);
    gso_ = false;
    SendResult rest = send_each(transmit, to, bytes.subspan(segment), segment);
    rest.bytes += segment;
    return rest;
}

/// Returns 0 or errno.
int LinuxSocket::send_message(const proto::Transmit& transmit, const SocketAddress& to,
                              std::span<const std::byte> bytes, std::size_t segment) {
    iovec vector{const_cast<std::byte*>(bytes.data()), bytes.size()};
    ControlBuffer control;
    msghdr header = make_message(to.get(), to.length, vector);
    build_send_control(header, control, transmit, interface_, segment);
    int error = 0;
    bool refused_size = false;
    bool reported_nothing = false;
    for (int reported = 0; reported <= kReportedErrors; ++reported) {
        if (::sendmsg(socket_.fd.get(), &header, MSG_DONTWAIT) >= 0) return 0;
        error = errno;
        if (error == EINTR) continue;
        // EMSGSIZE may come from an ICMP message about an earlier datagram, perhaps a forged one. The second EMSGSIZE
        // is real. A second error of another kind without a message in the error queue comes from this host: it cannot
        // send there.
        if (error != EMSGSIZE && !is_reported_icmp(error)) return error;
        const bool message = drain_errors() > 0;
        if (error == EMSGSIZE && std::exchange(refused_size, true)) return error;
        if (error != EMSGSIZE && !message && std::exchange(reported_nothing, true)) return error;
    }
    return is_reported_icmp(error) ? ECONNREFUSED : error;
}

SendResult LinuxSocket::send_each(const proto::Transmit& transmit, const SocketAddress& to,
                                  std::span<const std::byte> bytes, std::size_t segment) {
    std::array<iovec, kSendBatch> vectors;
    std::array<mmsghdr, kSendBatch> messages;
    ControlBuffer control;
    SendResult result;
    while (result.bytes < bytes.size()) {
        std::size_t count = 0;
        for (std::size_t at = result.bytes; at < bytes.size() && count < kSendBatch; at += segment, ++count) {
            vectors[count] = {const_cast<std::byte*>(bytes.data()) + at, std::min(segment, bytes.size() - at)};
            msghdr& header = messages[count].msg_hdr;
            header = make_message(to.get(), to.length, vectors[count]);
            build_send_control(header, control, transmit, interface_, 0);
        }
        const int sent = ::sendmmsg(socket_.fd.get(), messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
        if (sent > 0) {
            for (int i = 0; i < sent; ++i) result.bytes += vectors[static_cast<std::size_t>(i)].iov_len;
            continue;
        }
        const auto front = bytes.subspan(result.bytes, std::min(segment, bytes.size() - result.bytes));
        const int error = send_message(transmit, to, front, 0);
        if (error != 0) return send_outcome(error, result.bytes);
        result.bytes += front.size();
    }
    return result;
}

/// Returns the number of messages read.
std::size_t LinuxSocket::drain_errors() {
    std::array<std::byte, 64> payload;
    std::size_t count = 0;
    for (; count < kMaxRefusals; ++count) {
        SocketAddress to;
        ControlBuffer control;
        iovec vector{payload.data(), payload.size()};
        msghdr header = make_message(to, vector, control);
        if (::recvmsg(socket_.fd.get(), &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
        Refusal refusal = icmp_message(header);
        if (refusal.error == 0) continue;
        refusal.remote = from_socket_address(to.get(), header.msg_namelen);
        const Lock lock(refusals_mutex_);
        const bool known = std::find(refusals_.begin(), refusals_.end(), refusal) != refusals_.end();
        if (!known && refusals_.size() < kMaxRefusals) refusals_.push_back(refusal);
    }
    return count;
}

}  // namespace

std::unique_ptr<DatagramSocket> make_linux_socket(BoundSocket socket) {
    return std::make_unique<LinuxSocket>(std::move(socket));
}

}  // namespace udtx::io
