// What both kinds of UDP socket need: creation, buffers, sharing of a port, meaning of errors.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "io/udp_socket.hpp"
#include "udtx/address.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

// Selects the protocol thread of a datagram if several threads share a port.

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

[[nodiscard]] std::unique_ptr<DatagramSocket> make_linux_socket(BoundSocket socket);
[[nodiscard]] std::unique_ptr<DatagramSocket> make_portable_socket(BoundSocket socket);

/// For a TCP connection that carries datagrams: nothing waits for more, and the kernel queues little unsent.
void set_tcp_options(int fd) noexcept;

/// Listens on TCP. A socket on [::] also accepts IPv4.
[[nodiscard]] Result<UniqueFd> bind_tcp(const Address& address);

/// Sets an option that some systems lack. True if it was set.
bool set_option(int fd, int level, int name, int value) noexcept;

// The ECN field is the low two bits of the TOS byte (IPv4) or the traffic class (IPv6).

/// Makes the kernel report the field of received datagrams, if it can.
void request_ecn(int fd, int family) noexcept;
/// The field, if this control message has one.
[[nodiscard]] std::optional<proto::Ecn> read_ecn(const cmsghdr& header) noexcept;

/// True for the errno values with which a send call asks to try later.
[[nodiscard]] bool is_would_block(int error) noexcept;
/// True if the errno comes from an ICMP message about an earlier datagram. The call reported it instead of doing its
/// work.
[[nodiscard]] bool is_reported_icmp(int error) noexcept;
/// True if the same call may soon succeed: no memory, no buffers, or a pending ICMP message.
[[nodiscard]] bool is_passing(int error) noexcept;
/// The result of a send call with this errno (0: it succeeded), after `taken` bytes.
[[nodiscard]] SendResult send_outcome(int error, std::size_t taken) noexcept;

// Errors of destinations that the system cannot send to.

/// True for a link-local address without an interface: the system would use any.
[[nodiscard]] bool lacks_zone(const Address& address) noexcept;
/// The system's text for `error`, and advice.
[[nodiscard]] std::string describe_no_route(const Address& remote, int error);

// What a driver does while the system refuses to receive. The cause, usually a lack of memory, may soon be over.

enum class TroubleStage : std::uint8_t {
    none,   ///< the system lets this end receive
    young,  ///< it refuses, for less than a second
    told,   ///< for longer: the callback was told
    fatal,  ///< for kReceivesNothing: all connections end
};
inline constexpr Step<TroubleStage> kTroubleSteps[] = {
    {TroubleStage::none, TroubleStage::young},  {TroubleStage::young, TroubleStage::told},
    {TroubleStage::young, TroubleStage::fatal}, {TroubleStage::told, TroubleStage::fatal},
    {TroubleStage::young, TroubleStage::none},  {TroubleStage::told, TroubleStage::none},
    {TroubleStage::fatal, TroubleStage::none},
};

/// Only the protocol thread uses this.
class ReceiveTrouble {
  public:
    /// Reports that the system has refused to receive for a second, and with `over` that it did so for kReceivesNothing
    /// and all connections end for it.
    using Callback = std::function<void(const Error& why, bool over)>;
    /// Shorter than TransportConfig::handshake_timeout, whose end would look like a fault of the path.
    static constexpr Duration kReceivesNothing = std::chrono::seconds(5);

    void on_trouble(Callback tell) { tell_ = std::move(tell); }
    /// The system lets this end receive again.
    void received() noexcept {
        if (stage_ != TroubleStage::none) stage_.enter(TroubleStage::none);
    }
    /// The system refused to receive, with this errno: try again at again_at(). The pause grows each time. The socket
    /// stays readable, so waiting for that would repeat the call at once. Returns the error with which all connections
    /// must end, if they must.
    [[nodiscard]] std::optional<Error> refused(int error);
    [[nodiscard]] std::optional<Instant> again_at() const noexcept { return again_at_; }
    /// True once when that time has come.
    [[nodiscard]] bool due(Instant now) noexcept {
        if (!again_at_ || now < *again_at_) return false;
        again_at_.reset();
        return true;
    }

  private:
    std::optional<Instant> again_at_;
    Callback tell_;
    Lifecycle<kTroubleSteps> stage_{TroubleStage::none};
    Instant since_{};
    Duration pause_{};
};

}  // namespace udtx::io
