// The size of a window that follows the line: twice what a round trip delivers, so that it never holds the sender up
// and the next round trip may deliver twice as much (M. Fisk, W. Feng: Dynamic Right-Sizing in TCP, 2001).
#pragma once

#include <algorithm>
#include <cstdint>

namespace udtx::stream {

class RightSize {
  public:
    /// Bytes: what it begins with, and never falls below.
    explicit RightSize(std::uint64_t least) noexcept : least_(least), size_(least) {}

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Beyond what it begins with.
    [[nodiscard]] std::uint64_t grown() const noexcept { return size_ - least_; }
    /// To be called once a round trip or more seldom. `in` and `out`: bytes that have entered and left the window until
    /// now. `share`: of the time since the last call that a round trip takes. `most`: to which it may grow.
    void on_round_trip(std::uint64_t in, std::uint64_t out, double share, std::uint64_t most) noexcept {
        // What leaves at once after a halt has come in over a longer time, or the other way round.
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
    static constexpr int kLongTime = 8;  // round trips: longer than a loss takes to be repaired

    std::uint64_t least_;
    std::uint64_t size_;
    std::uint64_t in_ = 0;
    std::uint64_t out_ = 0;
    std::uint64_t recent_ = 0;  // the most that was wanted ...
    int round_trips_ = 0;       // ... in so many
};

}  // namespace udtx::stream
