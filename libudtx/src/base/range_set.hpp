// Sorted set of disjoint half-open intervals of 64-bit numbers. A binary search finds the place. Appending at the end,
// taking from the front and changes near either end are then O(1). A change in the middle moves the shorter side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "udtx/range.hpp"

namespace udtx {

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
