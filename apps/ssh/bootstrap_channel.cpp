#include "ssh/bootstrap_channel.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "common/descriptors.hpp"
#include "ssh/bootstrap_key.hpp"
#include "ssh/bootstrap_port.hpp"
#include "udtx/interfaces.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// The process that started this one has its request ready.
constexpr Duration kRequestWithin = std::chrono::seconds(30);
/// Largest unread input in bytes. Requests, and each of their lines, are smaller.
constexpr std::size_t kMaxUnread = 16U << 20U;

Error broken(const std::string& what) { return {ErrorCode::protocol, "the request over ssh " + what}; }

Result<BootstrapRequest> understand(BootstrapFields fields) {
    const auto key = parse_key(fields.get("key"));
    if (!key) return broken("has no key");
    return BootstrapRequest{Credentials::from_psk(*key), std::move(fields)};
}

/// Opens the first free port, on all addresses of the host. network: no port is free.
Result<BoundSocket> open_port(const BootstrapPort& wanted) {
    Result<BoundSocket> opened = Error{ErrorCode::network, "no port"};
    for (unsigned port = wanted.ports.first; port <= wanted.ports.last; ++port) {
        const auto wildcards = resolve("", static_cast<std::uint16_t>(port), wanted.addresses);
        if (!wildcards) return wildcards.error();
        for (const Address& address : *wildcards) {
            opened = bind_udp(address);
            if (opened) return opened;
        }
    }
    if (wanted.ports.first == wanted.ports.last) return opened;
    return Error{ErrorCode::network, "no UDP port of " + to_string(wanted.ports) + " is free"};
}

/// The address of this host that ssh connected to; empty if it is unknown.
std::string address_of_ssh() {
    const char* text = std::getenv("SSH_CONNECTION");  // NOLINT(concurrency-mt-unsafe)
    if (text == nullptr) return {};
    // "client port server port"
    std::string rest = text;
    for (int i = 0; i < 2; ++i) {
        const std::size_t space = rest.find(' ');
        if (space == std::string::npos) return {};
        rest.erase(0, space + 1);
    }
    return rest.substr(0, rest.find_first_of(" %"));
}

/// True if only this host, or one link of it, can use the address.
bool is_local(const Address& address) {
    const auto& ip = address.ip;
    if (address.family == Address::Family::v4) return ip[0] == 127 || (ip[0] == 169 && ip[1] == 254);
    const bool link_local = ip[0] == 0xfe && (ip[1] & 0xc0U) == 0x80;
    return link_local || (std::all_of(ip.begin(), ip.end() - 1, [](std::uint8_t b) { return b == 0; }) && ip[15] == 1);
}

/// Addresses of this host that other hosts may reach. ssh's address may lead to another host: a balancer, a jump host.
std::vector<std::string> own_addresses() {
    constexpr std::size_t kMost = 32;
    std::vector<std::string> own;
    const auto interfaces = list_interfaces();
    for (std::size_t i = 0; interfaces && i < interfaces->size(); ++i) {
        for (const Address& address : (*interfaces)[i].addresses) {
            if (own.size() == kMost || is_local(address)) continue;
            const std::string text = host_text(address);
            own.push_back(text.front() == '[' ? text.substr(1, text.size() - 2) : text);
        }
    }
    return own;
}

/// For `doctor` on the other side.
std::int64_t wall_clock_ns() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string host_of_ssh_client() {
    const char* text = std::getenv("SSH_CONNECTION");  // NOLINT(concurrency-mt-unsafe)
    const std::string host = text == nullptr ? std::string() : text;
    return host.substr(0, host.find_first_of(" %"));
}

Result<BoundSocket> BootstrapChannel::open(const std::vector<std::string>& arguments) {
    static_cast<void>(write_all(out_, own_greeting()));
    const auto wanted = parse_bootstrap_port(arguments);
    if (!wanted) return wanted.error();
    auto socket = open_port(*wanted);
    if (!socket) return socket;
    BootstrapFields fields;
    fields.add("port", std::to_string(socket->local.port));
    fields.add("address", address_of_ssh());
    for (std::string& address : own_addresses()) fields.add("own", std::move(address));
    fields.add("advice", socket->buffer_advice);
    fields.add("clock", std::to_string(wall_clock_ns()));
    answer(fields);
    return socket;
}

Result<BootstrapRequest> BootstrapChannel::await() {
    const Instant deadline = monotonic_now() + kRequestWithin;
    BootstrapFieldReader reader;
    bool greeted = false;
    while (monotonic_now() < deadline) {
        while (const auto line = next_line()) {
            if (!greeted) {
                const auto greeting = parse_greeting(*line);
                if (!greeting) return broken("does not start with a greeting; '--bootstrap' is only for udtx over ssh");
                if (const auto same = check_greeting(*greeting); !same) {
                    return Error{same.error().code, "the other end " + same.error().message};
                }
                greeted = true;
                continue;
            }
            auto block = reader.feed(*line);
            if (!block) return block.error();
            if (block->has_value()) return understand(std::move(**block));
        }
        if (closed_) return broken("ended too early");
        if (buffer_.size() > kMaxUnread) return broken("has a line without an end");
        if (signals_.wait(std::chrono::milliseconds(0))) return Error{ErrorCode::interrupted, "interrupted"};
        pollfd entry{in_, POLLIN, 0};
        if (::poll(&entry, 1, 100) > 0 && !read_more()) closed_ = true;
    }
    return Error{ErrorCode::timeout, "no request arrived over ssh; '--bootstrap' is only for udtx over ssh"};
}

void BootstrapChannel::answer(const BootstrapFields& fields) const {
    // If the other side has gone, closed() reports it.
    static_cast<void>(write_all(out_, fields.to_text()));
}

ExitCode BootstrapChannel::refuse(const Error& error) const {
    const ExitCode code = exit_code_for(error.code);
    BootstrapFields fields;
    fields.add("error", std::to_string(static_cast<int>(code)));
    fields.add("message", error.message);
    answer(fields);
    return code;
}

bool BootstrapChannel::closed() {
    pollfd entry{in_, POLLIN, 0};
    while (!closed_ && ::poll(&entry, 1, 0) > 0) {
        if (!read_more()) closed_ = true;
        buffer_.clear();  // no data follows the request
    }
    return closed_;
}

bool BootstrapChannel::read_more() {
    std::array<char, 4096> block{};
    const ssize_t n = ::read(in_, block.data(), block.size());
    if (n > 0) buffer_.append(block.data(), static_cast<std::size_t>(n));
    return n > 0 || (n < 0 && errno == EINTR);
}

std::optional<std::string> BootstrapChannel::next_line() {
    const std::size_t end = buffer_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
}

}  // namespace udtx::apps
