#include "rendezvous/met_end.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <variant>

#include "common/process.hpp"
#include "common/text.hpp"
#include "rendezvous/messages.hpp"
#include "rendezvous/socket_address.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

using namespace std::chrono_literals;

/// For the relay, and for an end that waits there.
constexpr Duration kRelayTime = 30s;
/// The relay answers within a round trip, or UDP does not reach it.
constexpr Duration kObserveTime = 1s;
constexpr Duration kAskAgain = 100ms;
/// Both ends begin within a round trip through the relay.
constexpr Duration kPunchTime = 1s;
constexpr Duration kKnockAgain = 100ms;
/// Later, while the transport uses the socket: often at first, then so that a NAT does not forget the address (RFC
/// 4787, section 4.3, recommends two minutes, and some forget after 30 s).
constexpr Duration kOften = 5s;
constexpr Duration kOftenEvery = 250ms;
constexpr Duration kSeldomEvery = 15s;
constexpr Duration kFlushTime = 500ms;
/// The first byte of a knock. The transport drops it.
constexpr std::byte kKnock{3};
constexpr std::size_t kKnockBytes = 17;
constexpr std::size_t kMostOwn = 8;

/// An address in the text of the other end, which is not looked up.
std::optional<Address> parse_address(const std::string& text) {
    const auto where = parse_host_port(text);
    if (!where || where->port == 0 || where->host.empty()) return std::nullopt;
    Address address{.family = Address::Family::v4, .port = where->port};
    if (::inet_pton(AF_INET, where->host.c_str(), address.ip.data()) == 1) return address;
    address.family = Address::Family::v6;
    if (::inet_pton(AF_INET6, where->host.c_str(), address.ip.data()) == 1) return address;
    return std::nullopt;
}

Patience soon(int stop) { return {monotonic_now() + kRelayTime, stop}; }

bool same_host(const Address& a, const Address& b) { return a.family == b.family && a.ip == b.ip; }

std::vector<std::byte> knock_of(const Secret32& key, std::string_view whose) {
    std::vector<std::byte> knock(kKnockBytes, kKnock);
    hkdf_sha256(key.bytes(), as_bytes_of(whose), std::span(knock).subspan(1));
    return knock;
}

Result<BoundSocket> bind_anywhere() {
    const auto wildcards = resolve("", 0);
    if (!wildcards) return wildcards.error();
    Result<BoundSocket> bound = Error{ErrorCode::network, "cannot bind a UDP socket"};
    for (const Address& address : *wildcards) {
        bound = bind_udp(address);
        if (bound) return bound;
    }
    return bound;
}

}  // namespace

std::string EndAddresses::to_text() const {
    std::string text;
    if (seen) text += "seen " + to_string(*seen) + '\n';
    for (const Address& address : own) text += "own " + to_string(address) + '\n';
#ifdef UDTX_FUTURE
    text += "future 1\n";  // see tests/compat
#endif
    return text;
}

EndAddresses EndAddresses::parse(std::string_view text) {
    EndAddresses told;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t space = std::min(line.find(' '), line.size());
        const std::string_view name = line.substr(0, space);
        if (name != "seen" && name != "own") continue;
        const auto address = parse_address(std::string(line.substr(std::min(space + 1, line.size()))));
        if (!address) continue;
        if (name == "seen") {
            told.seen = address;
        } else if (told.own.size() < kMostOwn) {
            told.own.push_back(*address);
        }
    }
    return told;
}

std::vector<Address> EndAddresses::to_try(std::span<const Address> here) const {
    std::vector<Address> out;
    if (seen) out.push_back(*seen);
    for (const Address& address : own) {
        const auto is_here = [&](const Address& one) { return same_host(one, address); };
        if (std::ranges::none_of(here, is_here) && std::ranges::find(out, address) == out.end()) out.push_back(address);
    }
    return out;
}

Result<std::unique_ptr<MetEnd>> MetEnd::await(const std::vector<Address>& relay,
                                              const std::function<void(const Code&)>& tell,
                                              const std::function<void(std::size_t left)>& wrong_code, int stop) {
    SystemRng random;
    auto mailbox = Mailbox::claim(relay, random, soon(stop));
    if (!mailbox) return mailbox.error();
    mailbox->on_wrong_code = wrong_code;
    tell(mailbox->code());
    // The relay ends the session when the code is no longer valid.
    const Duration valid = std::chrono::seconds(mailbox->code_seconds());
    return meet(std::move(*mailbox), true, {monotonic_now() + valid + kRelayTime, stop});
}

Result<std::unique_ptr<MetEnd>> MetEnd::reach(const std::vector<Address>& relay, const Code& code, int stop) {
    auto mailbox = Mailbox::join(relay, code, soon(stop));
    if (!mailbox) return mailbox.error();
    return meet(std::move(*mailbox), false, soon(stop));
}

Result<std::unique_ptr<MetEnd>> MetEnd::meet(Mailbox mailbox, bool sends, const Patience& patience) {
    auto socket = bind_anywhere();
    if (!socket) return socket.error();
    std::unique_ptr<MetEnd> end(new MetEnd(std::move(mailbox), std::move(*socket)));
    if (const auto opened = end->open_channel(); !opened) return opened.error();
    const std::vector<Address> here = own_addresses();
    const auto tell = [&] {
        EndAddresses addresses{.seen = end->observe(patience), .own = here};
        if (addresses.own.size() > kMostOwn) addresses.own.resize(kMostOwn);
        for (Address& address : addresses.own) address.port = end->socket_.local.port;
        const auto text = addresses.to_text();
        const auto bytes = as_bytes_of(text);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    auto met = end->mailbox_.meet(tell, patience);
    if (!met) return met.error();
    end->key_ = met->key;
    end->addresses_ =
        EndAddresses::parse({reinterpret_cast<const char*>(met->peer.data()), met->peer.size()}).to_try(here);
    end->knock_ = knock_of(met->key, sends ? "knock of the sender" : "knock of the receiver");
    end->other_knock_ = knock_of(met->key, sends ? "knock of the receiver" : "knock of the sender");
    end->punch(patience);
    return end;
}

// --- UDP

void MetEnd::send(const Address& to, std::span<const std::byte> datagram) const {
    const bool v6 = socket_.local.family == Address::Family::v6;
    if (to.family == Address::Family::v6 && !v6) return;
    const SocketAddress where = socket_address(to, v6);
    // An address that cannot be reached is one of several.
    (void)::sendto(socket(), datagram.data(), datagram.size(), MSG_DONTWAIT, where.get(), where.size);
}

std::optional<MetEnd::Arrived> MetEnd::next(Instant until, const Patience& patience) const {
    std::array<std::byte, 256> buffer{};
    for (;;) {
        const Duration left = until - monotonic_now();
        if (left <= Duration::zero()) return std::nullopt;
        std::array<pollfd, 2> polled{{{socket(), POLLIN, 0}, {patience.stop, POLLIN, 0}}};
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        if (::poll(polled.data(), polled.size(), static_cast<int>(milliseconds)) <= 0) continue;
        if (polled[1].revents != 0) return std::nullopt;
        SocketAddress from;
        from.size = sizeof from.storage;
        const ssize_t size = ::recvfrom(socket(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                        reinterpret_cast<sockaddr*>(&from.storage), &from.size);
        if (size < 0) continue;  // an ICMP message about an earlier datagram
        return Arrived{address_of(from.get()), {buffer.begin(), buffer.begin() + size}};
    }
}

std::optional<Address> MetEnd::observe(const Patience& patience) {
    const Bind question{.token = mailbox_.token()};
    const Instant end = std::min(monotonic_now() + kObserveTime, patience.deadline);
    for (Instant again = monotonic_now(); monotonic_now() < end;) {
        if (monotonic_now() >= again) {
            send(mailbox_.link().relay(), encode(question));
            again = monotonic_now() + kAskAgain;
        }
        const auto arrived = next(std::min(again, end), patience);
        const auto answer = arrived ? parse_bind_answer(arrived->bytes) : std::nullopt;
        if (answer && answer->token == question.token) return answer->observed;
        if (patience.interrupted()) break;
    }
    return std::nullopt;
}

void MetEnd::knock(const Address& at) const { send(at, knock_); }

void MetEnd::knock_at_all() const {
    for (const Address& address : addresses_) knock(address);
}

void MetEnd::punch(const Patience& patience) {
    if (addresses_.empty()) return;
    std::vector<Address> came_from;
    Instant end = std::min(monotonic_now() + kPunchTime, patience.deadline);
    for (Instant again = monotonic_now(); monotonic_now() < end;) {
        if (monotonic_now() >= again) {
            knock_at_all();
            again = monotonic_now() + kKnockAgain;
        }
        const auto arrived = next(std::min(again, end), patience);
        if (patience.interrupted()) return;
        if (!arrived || !equal_secrets(arrived->bytes, other_knock_)) continue;
        if (std::ranges::find(came_from, arrived->from) != came_from.end()) continue;
        // A NAT may have given the other end another port towards this one.
        if (came_from.empty()) end = std::min(end, monotonic_now() + kKnockAgain);
        came_from.push_back(arrived->from);
        knock(arrived->from);
    }
    std::erase_if(addresses_, [&](const Address& one) { return std::ranges::find(came_from, one) != came_from.end(); });
    addresses_.insert(addresses_.begin(), came_from.begin(), came_from.end());
}

// --- the stream through the relay

Result<void> MetEnd::open_channel() {
    const auto failed = [](int error) { return failed_call(ErrorCode::no_resources, "cannot use the relay", error); };
    std::array<int, 2> pair{};
    std::array<int, 2> stop{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return failed(errno);
    inner_.reset(pair[0]);
    UniqueFd outer(pair[1]);
    if (::pipe2(stop.data(), O_CLOEXEC) != 0) return failed(errno);
    stop_read_.reset(stop[0]);
    stop_write_.reset(stop[1]);
    ::fcntl(inner_.get(), F_SETFL, O_NONBLOCK);
    UniqueFd out(::fcntl(outer.get(), F_DUPFD_CLOEXEC, 0));
    if (!out) return failed(errno);
    channel_ = Channel::make(std::move(outer), std::move(out), {}, Carrier::relay);
    return {};
}

Result<void> MetEnd::start() {
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
        return failed_call(ErrorCode::no_resources, "cannot use the relay", error.code().value());
    }
    return {};
}

MetEnd::~MetEnd() {
    if (thread_.joinable()) {
        stop_write_.reset();
        thread_.join();
    }
    // What the transport sent last.
    RelayLink& link = mailbox_.link();
    const Instant end = monotonic_now() + kFlushTime;
    while (link.wants_write() && monotonic_now() < end) {
        pollfd polled{link.fd(), POLLOUT, 0};
        if (::poll(&polled, 1, 50) > 0 && !link.flush()) break;
    }
    mailbox_.close();
}

void MetEnd::run() {
    const Instant begun = monotonic_now();
    Instant knocks_at = begun;
    for (bool goes_on = true; goes_on;) {
        const Instant now = monotonic_now();
        if (now >= knocks_at) {
            knock_at_all();
            knocks_at = now + (now - begun < kOften ? kOftenEvery : kSeldomEvery);
        }
        goes_on = turn(knocks_at);
    }
    over_ = true;
    inner_.reset();
}

bool MetEnd::turn(Instant next_knock) {
    RelayLink& link = mailbox_.link();
    const bool room = !link.wants_write();
    const bool empty = for_channel_.empty();
    const auto events = [](bool in, bool out) { return static_cast<short>((in ? POLLIN : 0) | (out ? POLLOUT : 0)); };
    std::array<pollfd, 3> polled{
        {{stop_read_.get(), POLLIN, 0}, {link.fd(), events(empty, !room), 0}, {inner_.get(), events(room, !empty), 0}}};
    // With nothing to wait for, poll(2) would still report that the other side has closed.
    for (pollfd& one : polled) {
        if (one.events == 0) one.fd = -1;
    }
    const auto left = std::max(next_knock - monotonic_now(), Duration::zero());
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(milliseconds)) < 0 && errno != EINTR) {
        return false;
    }
    if (polled[0].revents != 0 || !link.flush() || !take_from_relay()) return false;
    return link.wants_write() || take_from_channel();
}

/// TLS may hold whole messages that poll(2) does not see, so that this reads until there is none.
bool MetEnd::take_from_relay() {
    for (;;) {
        while (!for_channel_.empty()) {
            const ssize_t size = ::send(inner_.get(), for_channel_.data(), for_channel_.size(), MSG_NOSIGNAL);
            if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
            if (size < 0) return false;
            for_channel_.erase(for_channel_.begin(), for_channel_.begin() + size);
        }
        auto arrival = mailbox_.poll_arrival();
        if (!arrival) return false;
        if (!arrival->has_value()) return true;
        if (auto* const data = std::get_if<Data>(&**arrival)) for_channel_ = std::move(data->body);
    }
}

bool MetEnd::take_from_channel() {
    std::array<std::byte, kMaxDataBytes> bytes{};
    const ssize_t size = ::recv(inner_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0) return false;
    return mailbox_.send_data(std::span(bytes).first(static_cast<std::size_t>(size))).ok();
}

}  // namespace udtx::apps
