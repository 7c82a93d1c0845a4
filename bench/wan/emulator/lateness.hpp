// Records how much later than in the model packets were delivered. This is the delay that the emulator itself adds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "udtx/rate.hpp"

namespace udtx::wan {

class Lateness {
  public:
    void add(Duration late) noexcept {
        const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, late.count() / 1000));
        ++counts_[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(us)), counts_.size() - 1)];
        ++total_;
        max_ = std::max(max_, late);
    }
    /// Upper bound of the lateness of this share of the packets: a power of two microseconds, or max() if that is less.
    [[nodiscard]] Duration quantile(double share) const noexcept {
        std::uint64_t seen = 0;
        for (std::size_t bits = 0; bits < counts_.size(); ++bits) {
            seen += counts_[bits];
            if (static_cast<double>(seen) >= share * static_cast<double>(total_)) {
                return std::min(max_, Duration(std::chrono::microseconds(std::int64_t{1} << bits)));
            }
        }
        return max_;
    }
    [[nodiscard]] Duration max() const noexcept { return max_; }

  private:
    std::array<std::uint64_t, 32> counts_{};  // by the bit width of the microseconds
    std::uint64_t total_ = 0;
    Duration max_{};
};

}  // namespace udtx::wan
