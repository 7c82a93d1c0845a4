#include "tun_device.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace udtx::wan {

Result<TunDevice> TunDevice::make(const std::string& name) {
    const auto failed = [&name](const std::string& what) {
        return Error{ErrorCode::network, what + " for TUN device " + name + ": " + std::strerror(errno)};
    };
    UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fd) return failed("cannot open /dev/net/tun");
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (name.size() >= sizeof request.ifr_name) return Error{ErrorCode::invalid_argument, name + " is too long"};
    std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
    if (::ioctl(fd.get(), TUNSETIFF, &request) != 0) return failed("TUNSETIFF");
    return TunDevice(std::move(fd));
}

std::size_t TunDevice::read(std::span<std::byte> buffer) noexcept {
    const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool TunDevice::write(std::span<const std::byte> packet) noexcept {
    return ::write(fd_.get(), packet.data(), packet.size()) == static_cast<ssize_t>(packet.size());
}

}  // namespace udtx::wan
