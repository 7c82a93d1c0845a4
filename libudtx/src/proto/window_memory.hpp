// By how much the windows of all connections of an endpoint may grow together (TransportConfig::max_memory).
#pragma once

#include <algorithm>
#include <cstdint>

namespace udtx::proto {

class WindowMemory {
  public:
    explicit WindowMemory(std::uint64_t most) noexcept : most_(most) {}

    /// For one that has so many bytes of it: these, and what nobody has.
    [[nodiscard]] std::uint64_t available(std::uint64_t own) const noexcept {
        return own + most_ - std::min(most_, used_);
    }
    void change(std::uint64_t from, std::uint64_t to) noexcept { used_ = used_ - from + to; }

  private:
    std::uint64_t most_;
    std::uint64_t used_ = 0;
};

}  // namespace udtx::proto
