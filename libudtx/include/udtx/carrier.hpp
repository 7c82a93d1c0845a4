// What carries the datagrams of a connection where UDP does not pass: TLS over TCP, through a proxy if there is one, or
// a byte stream of the program, such as the pipes of ssh.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

namespace io {
class StreamCarrier;
}

/// A proxy for TCP connections.
struct Proxy {
    /// How to talk to a proxy.
    enum class Kind : std::uint8_t {
        http,    ///< CONNECT (RFC 9110, section 9.3.6)
        socks5,  ///< RFC 1928, with names and passwords as in RFC 1929
    };
    Kind kind = Kind::http;  ///< how to talk to it
    std::string host;        ///< its host
    std::uint16_t port = 0;  ///< its port
    std::string user{};      ///< user name; empty: none is sent
    std::string password{};  ///< password of the user
};
/// Parses "http://[USER:PASSWORD@]HOST:PORT", "socks5://..." or "socks5h://...". The last two mean the same: the proxy
/// looks up names. invalid_argument: the text has another form.
[[nodiscard]] UDTX_EXPORT Result<Proxy> parse_proxy(const std::string& url);

/// The carriers that a connection may use besides a Channel. UDP is the fastest.
struct CarrierOptions {
    bool udp = true;  ///< UDP
    bool tcp = true;  ///< TLS over TCP, where UDP does not pass
    /// TCP ports to try besides that of the peer.
    std::vector<std::uint16_t> tcp_ports{443};
    std::optional<Proxy> proxy{};  ///< for TCP; nullopt: connect directly
    /// The program will add a Channel. The attempt waits for it also where nothing can be sent over UDP.
    bool channel = false;
};

/// In a list of TCP addresses of a listener or server: the address and port of the UDP socket. If that TCP port is not
/// free, the listener does without it.
inline constexpr const char* kSamePort = "same";

/// A byte stream to the peer that the program has opened, such as the pipes of ssh. The program at the other end has a
/// Channel, too. Transfers may use it one after another.
class UDTX_EXPORT Channel {
  public:
    /// `in` and `out` become non-blocking. `received`: bytes that the program has read from `in` already. `carrier`:
    /// ssh or relay.
    [[nodiscard]] static std::shared_ptr<Channel> make(UniqueFd in, UniqueFd out, std::string_view received,
                                                       Carrier carrier = Carrier::ssh);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// True if the stream has ended, as far as a transfer that uses it has noticed. Any thread.
    [[nodiscard]] bool ended() const noexcept;

  private:
    friend struct ChannelAccess;
    Channel();
    std::shared_ptr<io::StreamCarrier> carrier_;
};

}  // namespace udtx
