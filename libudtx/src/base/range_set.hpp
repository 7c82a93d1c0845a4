// Sorted set of disjoint half-open intervals of 64-bit numbers. Appending at the end, taking from the front and
// changes near either end are O(1) once the place is found (binary search); in the middle the shorter side moves.
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
    /// Adds [begin, end); returns how many numbers were new.
    std::uint64_t insert(std::uint64_t begin, std::uint64_t end);
    /// Removes [begin, end); returns how many numbers were there.
    std::uint64_t erase(std::uint64_t begin, std::uint64_t end);
    void clear() noexcept;

    [[nodiscard]] bool empty() const noexcept { return head_ == ranges_.size(); }
    [[nodiscard]] std::size_t count() const noexcept { return ranges_.size() - head_; }  ///< number of intervals
    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }                ///< numbers in the set
    [[nodiscard]] bool contains(std::uint64_t value) const noexcept;
    /// All of [begin, end); true for an empty interval.
    [[nodiscard]] bool contains(std::uint64_t begin, std::uint64_t end) const noexcept;
    [[nodiscard]] Range front() const { return ranges_[head_]; }  ///< not to be asked of an empty set
    [[nodiscard]] Range back() const { return ranges_.back(); }
    [[nodiscard]] std::span<const Range> intervals() const noexcept {  ///< ascending
        return {ranges_.data() + head_, count()};
    }
    /// The first part of [begin, end) that is not in the set; empty, at `end`, when all of it is.
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
    /// Index of the first interval whose end is beyond `value`; ranges_.size() if none.
    [[nodiscard]] std::size_t first_ending_after(std::uint64_t value) const noexcept;
    void open_slot(std::size_t index, Range value);
    void close_slots(std::size_t from, std::size_t to);

    std::vector<Range> ranges_;  // the intervals are [head_, size()); what lies before is spare room
    std::size_t head_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace udtx
