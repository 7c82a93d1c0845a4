// Bytes by which the windows of several connections may grow together (TransportConfig::max_memory). The connections
// belong to one endpoint, or to several endpoints that run on threads of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace udtx::proto {

class WindowMemory {
  public:
    explicit WindowMemory(std::uint64_t most) noexcept : most_(most) {}

    /// Bytes for a connection that already uses `own` of them: these, and the unused ones.
    [[nodiscard]] std::uint64_t available(std::uint64_t own) const noexcept {
        return own + most_ - std::min(most_, used_.load(std::memory_order_relaxed));
    }
    void change(std::uint64_t from, std::uint64_t to) noexcept {
        used_.fetch_add(to - from, std::memory_order_relaxed);
    }

  private:
    std::uint64_t most_;
    std::atomic<std::uint64_t> used_{0};
};

}  // namespace udtx::proto
