// Size of a window that follows the rate of the path: twice what a round trip delivers. So the window never holds up
// the sender, and the next round trip may deliver twice as much (M. Fisk, W. Feng: Dynamic Right-Sizing in TCP, 2001).
#pragma once

#include <algorithm>
#include <cstdint>

namespace udtx::stream {

class RightSize {
  public:
    /// `least`: bytes at the start, and the lower bound.
    explicit RightSize(std::uint64_t least) noexcept : least_(least), size_(least) {}

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Bytes by which the window exceeds its initial size.
    [[nodiscard]] std::uint64_t grown() const noexcept { return size_ - least_; }
    /// Call it at most once per round trip. `in` and `out`: bytes that have entered and left the window so far.
    /// `share`: the part of the time since the last call that one round trip takes. `most`: bytes to which the window
    /// may grow.
    void on_round_trip(std::uint64_t in, std::uint64_t out, double share, std::uint64_t most) noexcept {
        // After a stall, bytes may leave at once that entered over a longer time, or the reverse. So the smaller count
        // is used.
        const auto moved = static_cast<double>(std::min(in - in_, out - out_)) * share;
        in_ = in;
        out_ = out;
        const std::uint64_t wanted = std::clamp(static_cast<std::uint64_t>(2 * moved), least_, std::max(most, least_));
        size_ = std::max(size_, wanted);
        recent_ = std::max(recent_, wanted);
        if (++round_trips_ < kLongTime) return;
        size_ = recent_;
        recent_ = least_;
        round_trips_ = 0;
    }

  private:
    static constexpr int kLongTime = 8;  // round trips: longer than the repair of a loss takes

    std::uint64_t least_;
    std::uint64_t size_;
    std::uint64_t in_ = 0;
    std::uint64_t out_ = 0;
    std::uint64_t recent_ = 0;  // largest size wanted in this period ...
    int round_trips_ = 0;       // ... of so many round trips
};

}  // namespace udtx::stream
