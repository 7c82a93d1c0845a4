// A TUN device of this process. Without IFF_VNET_HDR the kernel segments and checksums before it hands packets over, so
// that what is read are packets as they would be on a wire.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::wan {

class TunDevice {
  public:
    /// Makes the device; it goes away with this object. Its namespace, addresses and state are the caller's matter.
    static Result<TunDevice> make(const std::string& name);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// One packet; 0 when there is none now.
    [[nodiscard]] std::size_t read(std::span<std::byte> buffer) noexcept;
    /// False when the device is down or the host's backlog is full: the packet is gone.
    [[nodiscard]] bool write(std::span<const std::byte> packet) noexcept;

  private:
    explicit TunDevice(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace udtx::wan
