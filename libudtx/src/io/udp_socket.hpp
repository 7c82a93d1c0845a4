// A UDP socket that sends and receives batches.
#pragma once

#include <netinet/udp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

// UDP segmentation and receive offload (GSO, GRO) of Linux, also for C libraries that are older than these options.
// These values are the kernel's ABI (linux/udp.h).
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace udtx::io {

/// The result of sending a batch.
struct SendResult {
    enum class Status {
        sent,         ///< the kernel took all of it
        would_block,  ///< pass the rest again when the socket is writable
        too_large,    ///< too large for the interface (EMSGSIZE); the rest was dropped
        no_route,     ///< the system cannot send there now (`error`); the rest was dropped
        dropped       ///< temporary system failure (`error`); the rest counts as lost on the path
    };
    Status status = Status::sent;
    std::size_t bytes = 0;  ///< bytes taken, whole segments from the front
    int error = 0;          ///< errno of too_large, no_route and dropped
};

/// An ICMP message about a destination. Anyone on the path can forge it, so it is only a hint.
struct Refusal {
    Address remote;
    /// ECONNREFUSED: no socket has that port; EHOSTUNREACH, ENETUNREACH, EACCES, ...: the host is unreachable.
    int error = 0;
    std::uint32_t mtu = 0;  ///< EMSGSIZE: size of the IP packets that pass
    [[nodiscard]] bool port_closed() const noexcept;
    /// The UDP payload that passes; 0: the message is not about a size.
    [[nodiscard]] std::uint32_t datagram_bytes() const noexcept;
    friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// One thread may send while another thread makes all other calls.
class DatagramSocket {
  public:
    virtual ~DatagramSocket() = default;

    [[nodiscard]] virtual Address local_address() const = 0;
    /// The file descriptor to poll for readability, writability and errors. The socket keeps ownership.
    [[nodiscard]] virtual int native_handle() const = 0;
    /// Returns received datagrams, at most one batch; empty if there are none. The socket owns the datagrams and their
    /// bytes, which are valid until the next call.
    [[nodiscard]] virtual std::span<proto::RxDatagram> receive() = 0;
    /// The errno with which the system refused the last receive(); 0: it was not refused. ICMP messages do not count.
    [[nodiscard]] virtual int receive_error() const noexcept = 0;
    /// Sends `bytes` as datagrams of `transmit.segment` bytes each, the last one possibly shorter.
    [[nodiscard]] virtual SendResult send(const proto::Transmit& transmit, std::span<const std::byte> bytes) = 0;
    /// The ICMP messages since the last call, each once.
    [[nodiscard]] virtual std::vector<Refusal> take_refusals() = 0;
    /// One line with the setting and its value if the system grants smaller buffers than requested, else empty.
    [[nodiscard]] virtual std::string buffer_advice() const = 0;
};

struct SocketOptions {
    std::size_t buffer_bytes = 16U << 20U;  ///< requested from the kernel, for each direction
    bool join = false;                      ///< joins a port that another socket shares (share_port())
};

/// Binds a socket of the best kind for this system. With UDTX_IO=portable it sends one datagram per system call. A bind
/// to [::] also accepts IPv4. Port 0 selects a free port.
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> open_socket(const Address& bind, const SocketOptions& options);
/// Takes a UDP socket that the program has bound.
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> adopt_socket(UniqueFd socket, const SocketOptions& options);

/// Opens a specific kind, for tests. open_linux_socket returns an error on other systems.
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> open_linux_socket(const Address& bind,
                                                                        const SocketOptions& options);
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> open_portable_socket(const Address& bind,
                                                                           const SocketOptions& options);

}  // namespace udtx::io
