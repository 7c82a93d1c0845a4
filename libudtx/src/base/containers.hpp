// Containers of the protocol: a ring, the extreme of a time window, a set of ranges.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx {

// Queue addressed by a growing number: slot = number mod capacity. The capacity doubles when needed and never shrinks.

template <class T>
class Ring {
  public:
    explicit Ring(std::uint64_t first = 0) : first_(first), next_(first), slots_(16) {}

    [[nodiscard]] std::uint64_t first() const noexcept { return first_; }  ///< number of the oldest element
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }    ///< number that push_back() will take
    [[nodiscard]] bool empty() const noexcept { return first_ == next_; }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - first_); }
    [[nodiscard]] bool contains(std::uint64_t n) const noexcept { return n >= first_ && n < next_; }

    [[nodiscard]] T& operator[](std::uint64_t n) noexcept { return slots_[index(n)]; }
    [[nodiscard]] const T& operator[](std::uint64_t n) const noexcept { return slots_[index(n)]; }

    void push_back(T value) { push_slot() = std::move(value); }
    /// Returns the slot for the caller to fill in place. It is new, or holds what the last element in it left there.
    [[nodiscard]] T& push_slot() {
        if (size() == slots_.size()) grow();
        return slots_[index(next_++)];
    }
    void pop_front() {
        if constexpr (!std::is_trivially_destructible_v<T>) slots_[index(first_)] = T{};
        ++first_;
    }

  private:
    [[nodiscard]] std::size_t index(std::uint64_t n) const noexcept {
        return static_cast<std::size_t>(n & (slots_.size() - 1));
    }
    void grow() {
        std::vector<T> bigger(slots_.size() * 2);
        for (std::uint64_t n = first_; n != next_; ++n) {
            bigger[static_cast<std::size_t>(n & (bigger.size() - 1))] = std::move(slots_[index(n)]);
        }
        slots_ = std::move(bigger);
    }

    std::uint64_t first_;
    std::uint64_t next_;
    std::vector<T> slots_;
};

// Extreme value over a sliding time window. The window consists of slices, so memory and time per sample are constant.

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

// Sorted set of disjoint half-open intervals of 64-bit numbers. A binary search finds the place. Appending at the end,
// taking from the front and changes near either end are then O(1). A change in the middle moves the shorter side.

class RangeSet {
  public:
    /// Adds [begin, end); returns how many of these numbers were new.
    std::uint64_t insert(std::uint64_t begin, std::uint64_t end);
    /// Removes [begin, end); returns how many of these numbers were in the set.
    std::uint64_t erase(std::uint64_t begin, std::uint64_t end);
    void clear() noexcept;

    [[nodiscard]] bool empty() const noexcept { return head_ == ranges_.size(); }
    [[nodiscard]] std::size_t count() const noexcept { return ranges_.size() - head_; }  ///< number of intervals
    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }                ///< numbers in the set
    [[nodiscard]] bool contains(std::uint64_t value) const noexcept;
    /// True if the set contains all of [begin, end); true for an empty interval.
    [[nodiscard]] bool contains(std::uint64_t begin, std::uint64_t end) const noexcept;
    [[nodiscard]] Range front() const { return ranges_[head_]; }  ///< only for a set that is not empty
    [[nodiscard]] Range back() const { return ranges_.back(); }
    [[nodiscard]] std::span<const Range> intervals() const noexcept {  ///< in ascending order
        return {ranges_.data() + head_, count()};
    }
    /// The first part of [begin, end) that is not in the set. If the set contains all of it, the result is empty, at
    /// `end`.
    [[nodiscard]] Range first_gap(std::uint64_t begin, std::uint64_t end) const noexcept {
        std::size_t i = first_ending_after(begin);
        if (i < ranges_.size() && ranges_[i].begin <= begin) begin = ranges_[i++].end;
        if (i < ranges_.size()) end = std::min(end, std::max(begin, ranges_[i].begin));
        return {std::min(begin, end), end};
    }
    /// Calls fn(begin, end) for each part of [begin, end) that is not in the set, ascending.
    template <class Fn>
    void for_each_gap(std::uint64_t begin, std::uint64_t end, Fn&& fn) const {
        for (std::size_t i = first_ending_after(begin); begin < end; ++i) {
            if (i == ranges_.size() || ranges_[i].begin >= end) {
                fn(begin, end);
                return;
            }
            if (begin < ranges_[i].begin) fn(begin, ranges_[i].begin);
            begin = ranges_[i].end;
        }
    }

  private:
    /// Index of the first interval whose end is greater than `value`; ranges_.size() if there is none.
    [[nodiscard]] std::size_t first_ending_after(std::uint64_t value) const noexcept;
    void open_slot(std::size_t index, Range value);
    void close_slots(std::size_t from, std::size_t to);

    std::vector<Range> ranges_;  // the intervals are [head_, size()); the slots before head_ are spare
    std::size_t head_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace udtx
