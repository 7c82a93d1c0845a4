// UDP sockets as the driver sees them: whole batches in, whole batches out, never blocking.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// What became of a batch.
struct SendResult {
    enum class Status {
        sent,         ///< the kernel took all of it
        would_block,  ///< offer the rest again when the socket is writable
        too_large,    ///< larger than the interface takes (EMSGSIZE); the rest was given up
        no_way,       ///< the system cannot send there as things are (`error`); the rest was given up
        dropped       ///< a passing failure of the system (`error`); the rest counts as lost on the way
    };
    Status status = Status::sent;
    std::size_t bytes = 0;  ///< how many were taken, whole segments from the front
    int error = 0;          ///< errno of too_large, no_way and dropped
};

/// What an ICMP message said of a destination. Anyone on the path can forge it: a hint, not a fact.
struct Refusal {
    Address remote;
    int error = 0;  ///< ECONNREFUSED: nobody has that port; EHOSTUNREACH, ENETUNREACH, EACCES, ...: it is not reached
    [[nodiscard]] bool port_closed() const noexcept;
    friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// One thread may send while another one does the rest.
class DatagramSocket {
  public:
    virtual ~DatagramSocket() = default;

    [[nodiscard]] virtual Address local_address() const = 0;
    /// File descriptor to wait on for readability, writability and errors. The socket keeps it.
    [[nodiscard]] virtual int native_handle() const = 0;
    /// What has arrived, at most one batch; empty when there is nothing. The datagrams and their bytes belong to the
    /// socket and stay until the next call.
    [[nodiscard]] virtual std::span<proto::RxDatagram> receive() = 0;
    /// Sends `bytes` as datagrams of `transmit.segment` bytes each, the last one possibly shorter.
    [[nodiscard]] virtual SendResult send(const proto::Transmit& transmit, std::span<const std::byte> bytes) = 0;
    /// What ICMP has said since the last call, each once.
    [[nodiscard]] virtual std::vector<Refusal> take_refusals() = 0;
    /// One line that names the setting and the value when the system grants smaller buffers than asked, else empty.
    [[nodiscard]] virtual std::string buffer_advice() const = 0;
};

struct SocketOptions {
    std::size_t buffer_bytes = 16U << 20U;  ///< asked of the kernel, each direction
    int inherited = -1;                     ///< a bound UDP socket to use instead of a new one; it is closed at the end
    bool join = false;                      ///< the port is another socket's, which shares it (io/steering.hpp)
};

/// Binds a socket of the best kind for this system; UDTX_IO=portable: one datagram a system call. A bind to [::] takes
/// IPv4 too. Port 0 picks a free one.
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> open_socket(const Address& bind, const SocketOptions& options);

/// The kinds by name, for tests. open_linux_socket gives an error on other systems.
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> open_linux_socket(const Address& bind,
                                                                        const SocketOptions& options);
[[nodiscard]] Result<std::unique_ptr<DatagramSocket>> open_portable_socket(const Address& bind,
                                                                           const SocketOptions& options);

}  // namespace udtx::io
