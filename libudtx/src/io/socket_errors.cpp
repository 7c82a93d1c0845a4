#include "io/socket_errors.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/udp_socket.hpp"
#include "os/system.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::io {
namespace {

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

std::string describe_no_way(const Address& remote, int error) {
    return "no route to " + to_string(remote) + "/udp: " + std::system_category().message(error) + " (" +
           advice(remote, error) + ")";
}

namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::seconds(1);
/// A refusal that lasts this long is reported.
constexpr Duration kTellAfter = std::chrono::seconds(1);

}  // namespace

std::optional<Error> ReceiveTrouble::refused(int error) {
    const Instant now = monotonic_now();
    if (stage_ == Stage::none) {
        stage_ = Stage::young;
        since_ = now;
        pause_ = kFirstPause;
    }
    again_at_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    const bool over = now - since_ >= kReceivesNothing;
    if (!over && now - since_ < kTellAfter) return std::nullopt;
    // Not `network`: the peer is not to blame, and no other address of it helps.
    const Error why = system_failure(ErrorCode::no_route, "the system refuses to receive on the UDP socket", error);
    const Stage next = over ? Stage::over : Stage::told;
    if (std::exchange(stage_, next) != next && tell_) tell_(why, over);
    return over ? std::optional(why) : std::nullopt;
}

}  // namespace udtx::io
