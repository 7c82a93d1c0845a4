// Extreme value over a sliding time window. The window consists of slices, so memory and time per sample are constant.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "udtx/time.hpp"

namespace udtx {

/// Keeps the value that `Better` puts first (std::less: the minimum). It drops a value after `length`, or up to length
/// / kSlices later.
template <class T, class Better>
class SlidingExtreme {
  public:
    explicit SlidingExtreme(Duration length) : slice_(length / kSlices) {}

    void add(Instant now, T value) {
        const std::int64_t index = now.time_since_epoch() / slice_;
        Slice& slice = slices_[static_cast<std::size_t>(index) % slices_.size()];
        if (!slice.used || slice.index != index) {
            slice = {index, value, true};
        } else if (Better()(value, slice.value)) {
            slice.value = value;
        }
    }

    [[nodiscard]] std::optional<T> value(Instant now) const { return value(now, kSlices * slice_); }
    /// The extreme of the last `within`, which is at most `length`.
    [[nodiscard]] std::optional<T> value(Instant now, Duration within) const {
        const std::int64_t oldest = std::max(now - within, now - kSlices * slice_).time_since_epoch() / slice_;
        std::optional<T> best;
        for (const Slice& slice : slices_) {
            if (!slice.used || slice.index < oldest) continue;
            if (!best || Better()(slice.value, *best)) best = slice.value;
        }
        return best;
    }

    void clear() { slices_ = {}; }

  private:
    static constexpr std::int64_t kSlices = 10;
    struct Slice {
        std::int64_t index = 0;
        T value{};
        bool used = false;
    };

    Duration slice_;
    std::array<Slice, kSlices + 1> slices_{};
};

}  // namespace udtx
