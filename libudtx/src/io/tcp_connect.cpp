#include "io/tcp_connect.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/addresses.hpp"
#include "io/socket_setup.hpp"
#include "os/system.hpp"
#include "udtx/system.hpp"

namespace udtx::io {
namespace {

constexpr Duration kApart = std::chrono::milliseconds(250);  // RFC 8305, section 5

Error failed(std::string what, int error) { return system_failure(ErrorCode::network, std::move(what), error); }
Error stopped() { return {ErrorCode::interrupted, "interrupted"}; }

int milliseconds_until(Instant until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - monotonic_now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// --- TCP connections that race

struct Attempt {
    UniqueFd socket;
    Address to;
};

/// Begins a connection; nullopt with `error` if the system refuses at once.
std::optional<Attempt> begin(const Address& to, Error& error) {
    const int family = to.family == Address::Family::v6 ? AF_INET6 : AF_INET;
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const SocketAddress name = to_socket_address(to, family);
    const int result = socket ? again([&] { return ::connect(socket.get(), name.get(), name.length); }) : -1;
    if (result == 0 || (socket && errno == EINPROGRESS)) return Attempt{std::move(socket), to};
    error = failed("TCP to " + to_string(to), errno);
    return std::nullopt;
}

/// The errno of a connection whose attempt is over; 0: it is open.
int outcome_of(int socket) noexcept {
    int error = 0;
    socklen_t length = sizeof error;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

Result<UniqueFd> race(const std::vector<Address>& targets, Instant until, int stop) {
    std::vector<Attempt> open;
    Error last{ErrorCode::network, "no address for TCP"};
    std::size_t next = 0;
    Instant next_at = monotonic_now();
    for (;;) {
        const Instant now = monotonic_now();
        if (now >= until) {
            if (open.empty()) return last;
            return Error{ErrorCode::network, "TCP to " + to_string(open.front().to) + ": nothing came back"};
        }
        while (next < targets.size() && (now >= next_at || open.empty())) {
            if (auto begun = begin(targets[next], last)) {
                open.push_back(std::move(*begun));
                next_at = now + kApart;
            }
            ++next;
        }
        if (open.empty()) return last;
        std::vector<pollfd> entries{{stop, POLLIN, 0}};
        for (const Attempt& one : open) entries.push_back({one.socket.get(), POLLOUT, 0});
        ::poll(entries.data(), entries.size(),
               milliseconds_until(next < targets.size() ? std::min(next_at, until) : until));
        if (entries[0].revents != 0) return stopped();
        for (std::size_t i = open.size(); i > 0; --i) {
            if (entries[i].revents == 0) continue;
            const int error = outcome_of(open[i - 1].socket.get());
            if (error == 0) return std::move(open[i - 1].socket);
            last = failed("TCP to " + to_string(open[i - 1].to), error);
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(i - 1));
            next_at = now;
        }
    }
}

// --- proxies

/// The conversation with a proxy.
class ProxyTalk {
  public:
    ProxyTalk(int socket, Instant until, int stop) : socket_(socket), until_(until), stop_(stop) {}

    Result<void> write(std::string_view bytes) {
        while (!bytes.empty()) {
            if (auto ready = wait(POLLOUT); !ready) return ready;
            const auto n = again([&] { return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
            if (n < 0 && !is_would_block(errno)) return failed("the proxy", errno);
            if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return {};
    }
    Result<std::string> read(std::size_t size) {
        std::string bytes;
        while (bytes.size() < size) {
            if (auto ready = wait(POLLIN); !ready) return ready.error();
            std::array<char, 256> piece;
            const auto n =
                again([&] { return ::recv(socket_, piece.data(), std::min(piece.size(), size - bytes.size()), 0); });
            if (n == 0) return Error{ErrorCode::network, "the proxy closed the connection"};
            if (n < 0 && !is_would_block(errno)) return failed("the proxy", errno);
            if (n > 0) bytes.append(piece.data(), static_cast<std::size_t>(n));
        }
        return bytes;
    }
    /// Up to an empty line, and nothing beyond it.
    Result<std::string> read_head() {
        constexpr std::size_t kMost = 16'384;
        std::string head;
        while (!head.ends_with("\r\n\r\n")) {
            auto byte = read(1);
            if (!byte) return byte;
            head += *byte;
            if (head.size() > kMost) return Error{ErrorCode::network, "the proxy's answer has no end"};
        }
        return head;
    }

  private:
    Result<void> wait(short events) {
        std::array<pollfd, 2> entries{pollfd{socket_, events, 0}, pollfd{stop_, POLLIN, 0}};
        const int ready = ::poll(entries.data(), entries.size(), milliseconds_until(until_));
        if (entries[1].revents != 0) return stopped();
        if (ready == 0) return Error{ErrorCode::network, "the proxy does not answer"};
        return {};
    }

    int socket_;
    Instant until_;
    int stop_;
};

std::string base64(const std::string& text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
    const int n = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    out.resize(static_cast<std::size_t>(n));
    return out;
}

Result<void> ask_http(ProxyTalk& talk, const Proxy& proxy, const std::string& host, std::uint16_t port) {
    const bool v6 = host.find(':') != std::string::npos;
    const std::string target = (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    std::string request = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
    if (!proxy.user.empty()) {
        request += "Proxy-Authorization: Basic " + base64(proxy.user + ":" + proxy.password) + "\r\n";
    }
    if (auto sent = talk.write(request + "\r\n"); !sent) return sent;
    const auto head = talk.read_head();
    if (!head) return head.error();
    // "HTTP/1.1 200 Connection established"
    if (head->starts_with("HTTP/1.") && head->size() > 12 && (*head)[9] == '2') return {};
    const std::string status = head->substr(0, head->find("\r\n"));
    return Error{ErrorCode::network, "the proxy refuses a connection to " + target + ": " + status};
}

const char* socks_reply(unsigned char code) {
    constexpr std::array<const char*, 9> kTexts{"",
                                                "general failure",
                                                "not allowed by its rules",
                                                "network unreachable",
                                                "host unreachable",
                                                "connection refused",
                                                "time to live expired",
                                                "command not supported",
                                                "kind of address not supported"};
    return code < kTexts.size() ? kTexts[code] : "unknown error";
}

Result<void> log_in_socks(ProxyTalk& talk, const Proxy& proxy) {
    std::string message("\x01", 1);
    for (const std::string* text : {&proxy.user, &proxy.password}) {
        message += static_cast<char>(static_cast<unsigned char>(text->size()));
        message += *text;
    }
    if (auto sent = talk.write(message); !sent) return sent;
    const auto answer = talk.read(2);
    if (!answer) return answer.error();
    if ((*answer)[1] != 0) return Error{ErrorCode::network, "the proxy refuses its user name or password"};
    return {};
}

Result<void> ask_socks(ProxyTalk& talk, const Proxy& proxy, const std::string& host, std::uint16_t port) {
    const bool named = !proxy.user.empty();
    if (auto sent = talk.write(named ? std::string_view("\x05\x02\x00\x02", 4) : std::string_view("\x05\x01\x00", 3));
        !sent) {
        return sent;
    }
    const auto method = talk.read(2);
    if (!method) return method.error();
    if ((*method)[0] != 5) return Error{ErrorCode::network, "the proxy does not speak SOCKS5"};
    if ((*method)[1] == 2 && named) {
        if (auto in = log_in_socks(talk, proxy); !in) return in;
    } else if ((*method)[1] != 0) {
        return Error{ErrorCode::network, "the proxy asks for a user name and a password: write them into its URL"};
    }
    std::string request("\x05\x01\x00\x03", 4);
    request += static_cast<char>(static_cast<unsigned char>(host.size()));
    request += host;
    request += static_cast<char>(static_cast<unsigned char>(port >> 8U));
    request += static_cast<char>(static_cast<unsigned char>(port & 0xffU));
    if (auto sent = talk.write(request); !sent) return sent;
    const auto head = talk.read(5);
    if (!head) return head.error();
    const auto code = static_cast<unsigned char>((*head)[1]);
    if (code != 0) {
        return Error{ErrorCode::network, "the proxy refuses a connection to " + host + ": " + socks_reply(code)};
    }
    const auto kind = static_cast<unsigned char>((*head)[3]);
    const std::size_t name = static_cast<unsigned char>((*head)[4]);
    const std::size_t rest = kind == 1 ? 3 + 2 : kind == 4 ? 15 + 2 : name + 2;
    const auto bound = talk.read(rest);
    return bound ? Result<void>() : bound.error();
}

Result<UniqueFd> through_proxy(const TcpTarget& target, Instant until, int stop) {
    const Proxy& proxy = *target.proxy;
    constexpr std::size_t kLongestName = 255;
    if (std::max({target.host.size(), proxy.user.size(), proxy.password.size()}) > kLongestName) {
        return Error{ErrorCode::network, "a name for the proxy is longer than 255 bytes"};
    }
    const auto addresses = resolve(proxy.host, proxy.port);
    if (!addresses) return Error{ErrorCode::network, "the proxy: " + addresses.error().message};
    std::vector<std::uint16_t> ports{target.addresses.front().port};
    ports.insert(ports.end(), target.ports.begin(), target.ports.end());
    Result<UniqueFd> result = Error{ErrorCode::network, "no port"};
    for (const std::uint16_t port : ports) {
        result = race(*addresses, until, stop);
        if (!result) return Error{ErrorCode::network, "the proxy: " + result.error().message};
        ProxyTalk talk(result->get(), until, stop);
        const auto asked = proxy.kind == Proxy::Kind::http ? ask_http(talk, proxy, target.host, port)
                                                           : ask_socks(talk, proxy, target.host, port);
        if (asked) return result;
        result = asked.error();
    }
    return result;
}

}  // namespace

Result<UniqueFd> connect_tcp(const TcpTarget& target, Instant until, int stop) {
    if (target.proxy) return through_proxy(target, until, stop);
    std::vector<Address> all = target.addresses;
    for (const std::uint16_t port : target.ports) {
        for (Address address : target.addresses) {
            const bool same = address.port == port;
            address.port = port;
            if (!same) all.push_back(address);
        }
    }
    return race(all, until, stop);
}

TcpConnector::TcpConnector(TcpTarget target, Done done) : target_(std::move(target)), done_(std::move(done)) {}

TcpConnector::~TcpConnector() {
    stop_write_.reset();
    if (thread_.joinable()) thread_.join();
}

Result<void> TcpConnector::connect_after(Duration pause) {
    if (!stop_write_) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure(ErrorCode::no_resources, "pipe", errno);
        stop_read_.reset(ends[0]);
        stop_write_.reset(ends[1]);
    }
    if (thread_.joinable()) thread_.join();
    try {
        thread_ = std::thread([this, pause] {
            pollfd entry{stop_read_.get(), POLLIN, 0};
            if (::poll(&entry, 1, milliseconds_until(monotonic_now() + pause)) != 0) return;
            done_(connect());
        });
    } catch (const std::system_error& refused) {
        return Error{ErrorCode::no_resources, refused.what()};
    }
    return {};
}

Result<std::unique_ptr<StreamCarrier>> TcpConnector::connect() {
    auto socket = connect_tcp(target_, monotonic_now() + kWithin, stop_read_.get());
    if (!socket) return socket.error();
    set_tcp_options(socket->get());
    const Address local = tcp_address(socket->get(), TcpEnd::here);
    const Address remote = tcp_address(socket->get(), TcpEnd::there);
    if (!tls_) {
        auto made = openssl::TlsStreams::make(Role::client);
        if (!made) return made.error();
        tls_ = std::move(*made);
    }
    // TLS takes names only, and no literal addresses (RFC 6066, section 3).
    const bool literal = target_.host.find_first_not_of("0123456789.:abcdefABCDEF") == std::string::npos;
    auto stream = tls_->over(std::move(*socket), literal ? std::string() : target_.host);
    if (!stream) return stream.error();
    return std::make_unique<StreamCarrier>(std::move(*stream), local, remote);
}

}  // namespace udtx::io

namespace udtx {

Result<Proxy> parse_proxy(const std::string& url) {
    const Error wrong{ErrorCode::invalid_argument,
                      "'" + url + "' is not a proxy: write http://HOST:PORT or socks5://USER:PASSWORD@HOST:PORT"};
    Proxy proxy;
    const std::size_t colon = url.find("://");
    if (colon == std::string::npos) return wrong;
    const std::string scheme = url.substr(0, colon);
    if (scheme == "socks5" || scheme == "socks5h") {
        proxy.kind = Proxy::Kind::socks5;
    } else if (scheme != "http") {
        return wrong;
    }
    std::string rest = url.substr(colon + 3);
    while (rest.ends_with('/')) rest.pop_back();
    if (const std::size_t at = rest.rfind('@'); at != std::string::npos) {
        const std::string login = rest.substr(0, at);
        const std::size_t split = login.find(':');
        proxy.user = login.substr(0, split);
        if (split != std::string::npos) proxy.password = login.substr(split + 1);
        rest.erase(0, at + 1);
    }
    const auto where = parse_host_port(rest);
    if (!where || where->host.empty()) return wrong;
    proxy.host = where->host;
    proxy.port = where->port;
    return proxy;
}

}  // namespace udtx
