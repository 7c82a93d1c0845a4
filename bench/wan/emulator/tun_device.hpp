// A TUN device of this process. Without IFF_VNET_HDR the kernel segments and checksums packets before it hands them
// over. The process therefore reads packets as they would be on a wire.
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
    /// Creates the device, which exists as long as this object. The caller sets its namespace, addresses and state.
    static Result<TunDevice> make(const std::string& name);

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Reads one packet and returns its size, or 0 if none is available.
    [[nodiscard]] std::size_t read(std::span<std::byte> buffer) noexcept;
    /// Returns false if the device is down or the host's backlog is full. The packet is then lost.
    [[nodiscard]] bool write(std::span<const std::byte> packet) noexcept;

  private:
    explicit TunDevice(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace udtx::wan
