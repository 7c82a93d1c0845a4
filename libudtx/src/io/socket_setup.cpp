#include "io/socket_setup.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/addresses.hpp"
#include "openssl/provider.hpp"
#include "os/system.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/diagnosis.hpp"
#include "udtx/system.hpp"
#include "wire/cursor.hpp"
#include "wire/header.hpp"

#ifdef __linux__
#include <linux/filter.h>
#endif

namespace udtx::io {
namespace {

// Offsets of the low 32 bits of the destination id (docs/inside/wire-format.md, 1.1 and 1.2).
constexpr std::uint32_t kLongIdAt = 9;
constexpr std::uint32_t kShortIdAt = 1;

}  // namespace

std::size_t thread_of(std::span<const std::byte> datagram, std::size_t threads) noexcept {
    const std::size_t at = wire::is_long_header(datagram) ? kLongIdAt : kShortIdAt;
    if (datagram.size() < at + 4) return 0;
    return wire::load_network<std::uint32_t>(datagram.data() + at) % threads;
}

bool share_port([[maybe_unused]] int fd) noexcept {
#ifdef __linux__
    return set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
#else
    return false;
#endif
}

bool steer_datagrams([[maybe_unused]] int fd, [[maybe_unused]] std::size_t threads) noexcept {
#ifdef __linux__
    const auto count = static_cast<std::uint32_t>(threads);
    // The UDP payload starts at offset 0. A load beyond its end makes the result 0, as in thread_of().
    std::array<sock_filter, 7> program{{
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x80, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kLongIdAt),
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kShortIdAt),
        BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, count),
        BPF_STMT(BPF_RET | BPF_A, 0),
    }};
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter) == 0;
#else
    return false;
#endif
}

namespace {

Error socket_error(std::string what, int error) { return system_failure(ErrorCode::network, std::move(what), error); }

/// Requests `wanted` bytes of buffer and returns what the kernel granted. Linux reports twice the usable size. It
/// limits the size to net.core.{r,w}mem_max without an error, unless the process may force it.
std::size_t enlarge_buffer(int fd, int name, [[maybe_unused]] int force_name, std::size_t wanted) {
    const int value = static_cast<int>(wanted);
#ifdef __linux__
    if (!set_option(fd, SOL_SOCKET, force_name, value)) set_option(fd, SOL_SOCKET, name, value);
#else
    for (int smaller = value; smaller > 65536 && !set_option(fd, SOL_SOCKET, name, smaller);) smaller /= 2;
#endif
    int granted = 0;
    socklen_t length = sizeof granted;
    if (::getsockopt(fd, SOL_SOCKET, name, &granted, &length) != 0 || granted < 0) return 0;
#ifdef __linux__
    granted /= 2;
#endif
    return static_cast<std::size_t>(granted);
}

SocketBuffers enlarge_buffers(int fd, std::size_t wanted) {
#ifdef __linux__
    return {wanted, enlarge_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, wanted),
            enlarge_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, wanted)};
#else
    return {wanted, enlarge_buffer(fd, SO_RCVBUF, 0, wanted), enlarge_buffer(fd, SO_SNDBUF, 0, wanted)};
#endif
}

void forbid_fragments([[maybe_unused]] int fd, [[maybe_unused]] int family) {
    // PROBE sets DF and ignores the kernel's path MTU cache, which forged ICMP may shrink. Our own search decides.
#if defined(IP_MTU_DISCOVER) && defined(IP_PMTUDISC_PROBE)
    set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
#elif defined(IP_DONTFRAG)
    set_option(fd, IPPROTO_IP, IP_DONTFRAG, 1);
#endif
    if (family != AF_INET6) return;
#if defined(IPV6_MTU_DISCOVER) && defined(IPV6_PMTUDISC_PROBE)
    set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
#elif defined(IPV6_DONTFRAG)
    set_option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
#endif
}

Result<void> bind_to(int fd, int family, const Address& address) {
    const SocketAddress wanted = to_socket_address(address, family);
    if (wanted.length == 0) return Error{ErrorCode::invalid_argument, "no address to bind to"};
    if (::bind(fd, wanted.get(), wanted.length) == 0) return {};
    const int error = errno;
    std::string message = "cannot listen on " + to_string(address);
    if (error == EADDRINUSE) message += " (another program uses this UDP port; choose another one)";
    if (error == EADDRNOTAVAIL) message += " (no interface of this machine has this address)";
    if (error == EACCES && address.port < 1024) message += " (ports below 1024 need root; choose another one)";
    return socket_error(std::move(message), error);
}

/// The address family of a socket that this process inherited.
Result<int> family_of(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    SocketAddress local;
    local.length = sizeof local.storage;
    const bool good = ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM &&
                      ::getsockname(fd, local.get(), &local.length) == 0;
    const int family = good ? local.get()->sa_family : AF_UNSPEC;
    if (family == AF_INET || family == AF_INET6) return family;
    return Error{ErrorCode::network, "the inherited descriptor is not a UDP socket"};
}

}  // namespace

std::string SocketBuffers::commands() const {
#ifdef __linux__
    constexpr std::string_view kReceiveSetting = "net.core.rmem_max";
    constexpr std::string_view kSendSetting = "net.core.wmem_max";
#else
    constexpr std::string_view kReceiveSetting = "kern.ipc.maxsockbuf";
    constexpr std::string_view kSendSetting = "kern.ipc.maxsockbuf";
#endif
    const std::string value = "=" + std::to_string(wanted);
    std::string all;
    if (receive < wanted) all = "sysctl -w " + std::string(kReceiveSetting) + value;
    // The send buffer only holds datagrams that the interface has not taken yet: 2 MiB are enough.
    constexpr std::size_t kEnoughToSend = 2U << 20U;
    if (send < wanted && send < kEnoughToSend && (all.empty() || kSendSetting != kReceiveSetting)) {
        all += (all.empty() ? "" : " && ") + ("sysctl -w " + std::string(kSendSetting) + value);
    }
    return all;
}

std::string SocketBuffers::advice() const {
    const std::string remedy = commands();
    if (remedy.empty()) return {};
    return "the system caps UDP buffers (receive " + std::to_string(receive / 1024) + " KiB, send " +
           std::to_string(send / 1024) + " KiB); fast paths may lose packets; fix with: " + remedy;
}

Address BoundSocket::reply_from() const noexcept {
    const bool wildcard = std::all_of(local.ip.begin(), local.ip.end(), [](std::uint8_t byte) { return byte == 0; });
    return wildcard ? Address{} : local;
}

void set_tcp_options(int fd) noexcept {
    constexpr int kUnsentBytes = 128 * 1024;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_NOTSENT_LOWAT
    set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytes);
#endif
}

Result<UniqueFd> bind_tcp(const Address& address) {
    constexpr int kWaiting = 128;
    const int family = address.family == Address::Family::v6 ? AF_INET6 : AF_INET;
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto failure = [&] { return socket_error("TCP " + to_string(address), errno); };
    if (!socket) return failure();
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (family == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const SocketAddress name = to_socket_address(address, family);
    if (::bind(socket.get(), name.get(), name.length) != 0 || ::listen(socket.get(), kWaiting) != 0) return failure();
    return socket;
}

bool set_option(int fd, int level, int name, int value) noexcept {
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

void request_ecn(int fd, int family) noexcept {
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
    if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
}

std::optional<proto::Ecn> read_ecn(const cmsghdr& header) noexcept {
    // BSD names the message like the option that requests it.
    const bool v4 = header.cmsg_level == IPPROTO_IP && (header.cmsg_type == IP_TOS || header.cmsg_type == IP_RECVTOS);
    const bool v6 = header.cmsg_level == IPPROTO_IPV6 && header.cmsg_type == IPV6_TCLASS;
    const auto* const field = CMSG_DATA(const_cast<cmsghdr*>(&header));
    constexpr unsigned kField = 3;
    if (v4 && header.cmsg_len >= CMSG_LEN(1)) return static_cast<proto::Ecn>(*field & kField);
    int traffic_class = 0;
    if (!v6 || header.cmsg_len < CMSG_LEN(sizeof traffic_class)) return std::nullopt;
    std::memcpy(&traffic_class, field, sizeof traffic_class);
    return static_cast<proto::Ecn>(static_cast<unsigned>(traffic_class) & kField);
}

bool is_would_block(int error) noexcept {
#if EAGAIN != EWOULDBLOCK
    if (error == EWOULDBLOCK) return true;
#endif
    return error == EAGAIN;
}

bool is_passing(int error) noexcept {
    return error == ENOBUFS || error == ENOMEM || error == EINTR || error == ECONNREFUSED || error == EIO ||
           is_would_block(error);
}

SendResult send_outcome(int error, std::size_t taken) noexcept {
    if (error == 0) return {SendResult::Status::sent, taken, 0};
    if (is_would_block(error)) return {SendResult::Status::would_block, taken, 0};
    if (error == EMSGSIZE) return {SendResult::Status::too_large, taken, error};
    return {is_passing(error) ? SendResult::Status::dropped : SendResult::Status::no_route, taken, error};
}

bool is_reported_icmp(int error) noexcept {
    switch (error) {
        case ECONNREFUSED:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EHOSTDOWN:
        case ENOPROTOOPT:
        case EPROTO:
        case EACCES:
        case EOPNOTSUPP:
            return true;
        default:
            return false;
    }
}

namespace {

/// The setup that a new and an adopted socket have in common.
Result<void> set_up(BoundSocket& socket, const SocketOptions& options) {
    const int fd = socket.fd.get();
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        return socket_error("cannot set up a UDP socket", errno);
    }
    forbid_fragments(fd, socket.family);
    socket.buffers = enlarge_buffers(fd, options.buffer_bytes);
    return {};
}

Result<void> look_up_address(BoundSocket& socket) {
    SocketAddress local;
    local.length = sizeof local.storage;
    if (::getsockname(socket.fd.get(), local.get(), &local.length) != 0) return socket_error("getsockname", errno);
    socket.local = from_socket_address(local.get(), local.length);
    return {};
}

Result<std::unique_ptr<DatagramSocket>> of_this_system(Result<BoundSocket> socket) {
    if (!socket) return socket.error();
#ifdef __linux__
    const char* kind = std::getenv("UDTX_IO");
    if (kind == nullptr || std::string_view(kind) != "portable") return make_linux_socket(std::move(*socket));
#endif
    return make_portable_socket(std::move(*socket));
}

}  // namespace

Result<BoundSocket> make_bound_socket(const Address& bind, const SocketOptions& options) {
    BoundSocket result;
    result.family = bind.family == Address::Family::v6 ? AF_INET6 : AF_INET;
    result.fd.reset(::socket(result.family, SOCK_DGRAM, IPPROTO_UDP));
    if (!result.fd) return socket_error("cannot create a UDP socket", errno);
    if (const auto done = set_up(result, options); !done) return done.error();
    const int fd = result.fd.get();
    if (result.family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (options.join && !share_port(fd)) return socket_error("cannot share a UDP port", errno);
    if (const auto bound = bind_to(fd, result.family, bind); !bound) return bound.error();
    if (const auto done = look_up_address(result); !done) return done.error();
    return result;
}

Result<std::unique_ptr<DatagramSocket>> open_socket(const Address& bind, const SocketOptions& options) {
    return of_this_system(make_bound_socket(bind, options));
}

Result<std::unique_ptr<DatagramSocket>> adopt_socket(UniqueFd socket, const SocketOptions& options) {
    const auto family = family_of(socket.get());
    if (!family) return family.error();
    BoundSocket result{.fd = std::move(socket), .family = *family, .local = {}, .buffers = {}};
    if (const auto done = set_up(result, options); !done) return done.error();
    if (const auto done = look_up_address(result); !done) return done.error();
    if (result.local.port == 0) {
        return Error{ErrorCode::invalid_argument, "descriptor " + std::to_string(result.fd.get()) +
                                                      " is not bound: bind it first, as bind_udp() does"};
    }
    return of_this_system(std::move(result));
}

Result<std::unique_ptr<DatagramSocket>> open_portable_socket(const Address& bind, const SocketOptions& options) {
    auto socket = make_bound_socket(bind, options);
    if (!socket) return socket.error();
    return make_portable_socket(std::move(*socket));
}

Result<std::unique_ptr<DatagramSocket>> open_linux_socket(const Address& bind, const SocketOptions& options) {
#ifdef __linux__
    auto socket = make_bound_socket(bind, options);
    if (!socket) return socket.error();
    return make_linux_socket(std::move(*socket));
#else
    static_cast<void>(bind);
    static_cast<void>(options);
    return Error{ErrorCode::invalid_argument, "this socket needs Linux"};
#endif
}

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(1);
/// A refusal that lasts this long is reported.
constexpr Duration kTellAfter = std::chrono::seconds(1);

std::string advice(const Address& remote, int error) {
    if (lacks_zone(remote)) return "a link-local address needs its interface, as in fe80::1%eth0";
    switch (error) {
        case EPERM:
            return "a firewall of this host forbids it";
        case EACCES:
            return "a firewall or a route 'prohibit' forbids it, or it is a broadcast address";
        case EINVAL:
            return "a route 'blackhole' drops it, or nothing can be sent to this address";
        case EADDRNOTAVAIL:
            return "this host has no address to send from";
        case EAFNOSUPPORT:
            return "this host has no address of this family";
        case ENETDOWN:
        case ENODEV:
            return "the interface is down or gone";
        default:
            return "check it with 'ip route get'";
    }
}

}  // namespace

bool lacks_zone(const Address& address) noexcept {
    const bool link_local =
        address.family == Address::Family::v6 && address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80;
    return link_local && address.scope == 0;
}

bool Refusal::port_closed() const noexcept { return error == ECONNREFUSED; }

std::uint32_t Refusal::datagram_bytes() const noexcept {
    const std::uint32_t headers = remote.family == Address::Family::v6 ? 48 : 28;
    return error == EMSGSIZE && mtu > headers ? mtu - headers : 0;
}

std::string describe_no_route(const Address& remote, int error) {
    return "no route to " + to_string(remote) + "/udp: " + std::system_category().message(error) + " (" +
           advice(remote, error) + ")";
}

std::optional<Error> ReceiveTrouble::refused(int error) {
    const Instant now = monotonic_now();
    if (stage_ == TroubleStage::none) {
        stage_.enter(TroubleStage::young);
        since_ = now;
        pause_ = kFirstPause;
    }
    again_at_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    const bool over = now - since_ >= kReceivesNothing;
    if (!over && now - since_ < kTellAfter) return std::nullopt;
    // Not `network`: the cause is not the peer, and no other address of it helps.
    const Error why = system_failure(ErrorCode::no_route, "the system refuses to receive on the UDP socket", error);
    const TroubleStage next = over ? TroubleStage::fatal : TroubleStage::told;
    if (stage_ == next) return over ? std::optional(why) : std::nullopt;
    stage_.enter(next);
    if (tell_) tell_(why, over);
    return over ? std::optional(why) : std::nullopt;
}

}  // namespace udtx::io

namespace udtx {

Result<BoundSocket> bind_udp(const Address& address) {
    auto socket = io::make_bound_socket(address, {});
    if (!socket) return socket.error();
    return BoundSocket{std::move(socket->fd), socket->local, socket->buffers.advice()};
}

CipherSpeeds measure_ciphers(Duration duration) {
    openssl::OpensslProvider provider;
    const auto speed = openssl::measure_cipher_speed(provider, monotonic_now, duration);
    return {Rate::bytes_per_second(speed.aes_gcm), Rate::bytes_per_second(speed.chacha20),
            openssl::has_aes_instructions()};
}

Result<UdpSupport> examine_udp() {
    Address loopback;
    loopback.family = Address::Family::v4;
    loopback.ip[0] = 127;
    loopback.ip[3] = 1;
    const auto socket = io::make_bound_socket(loopback, {});
    if (!socket) return socket.error();
    UdpSupport support{socket->buffers.receive, socket->buffers.send, socket->buffers.commands()};
#ifdef __linux__
    const auto takes = [&](int option, int value) {
        return io::set_option(socket->fd.get(), IPPROTO_UDP, option, value);
    };
    support.segmentation_offload = takes(UDP_SEGMENT, 1400);
    support.receive_offload = takes(UDP_GRO, 1);
#endif
    return support;
}

}  // namespace udtx
