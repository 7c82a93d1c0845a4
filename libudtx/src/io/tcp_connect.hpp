// Opens TCP connections to a peer, directly or through a proxy, on a thread of its own, because it waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io/stream_carrier.hpp"
#include "openssl/tls_stream.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

struct TcpTarget {
    std::string host;                  ///< as the user named it; for the proxy, and for TLS
    std::vector<Address> addresses;    ///< of that host, with the port of the peer
    std::vector<std::uint16_t> ports;  ///< other ports to try
    std::optional<Proxy> proxy;
};

/// Connects to one of the addresses, side by side (RFC 8305), and then through the proxy. Gives up when `until` is over
/// or `stop` is readable. network: nobody answered; the message names the cause.
[[nodiscard]] Result<UniqueFd> connect_tcp(const TcpTarget& target, Instant until, int stop);

/// Order of calls: connect_after(), and again when the result has come. The destructor ends an attempt.
class TcpConnector {
  public:
    /// Runs on the thread of this object.
    using Done = std::function<void(Result<std::unique_ptr<StreamCarrier>> carrier)>;

    TcpConnector(TcpTarget target, Done done);
    ~TcpConnector();
    TcpConnector(const TcpConnector&) = delete;
    TcpConnector& operator=(const TcpConnector&) = delete;

    /// Begins an attempt after `pause`. network: the process has no thread left.
    Result<void> connect_after(Duration pause);

  private:
    static constexpr Duration kWithin = std::chrono::seconds(8);

    [[nodiscard]] Result<std::unique_ptr<StreamCarrier>> connect();

    const TcpTarget target_;
    const Done done_;
    UniqueFd stop_read_;
    UniqueFd stop_write_;
    std::shared_ptr<openssl::TlsStreams> tls_;
    std::thread thread_;
};

}  // namespace udtx::io
