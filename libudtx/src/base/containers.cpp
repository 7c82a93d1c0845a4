#include "base/containers.hpp"

#include <cassert>

namespace udtx {

namespace {
// Spare slots in front are freed if they exceed both this number and twice the number of intervals.
constexpr std::size_t kSpareSlots = 64;
}  // namespace

std::size_t RangeSet::first_ending_after(std::uint64_t value) const noexcept {
    // Fast path: most calls concern the newest numbers.
    if (empty() || ranges_.back().end <= value) return ranges_.size();
    if (ranges_.back().begin <= value) return ranges_.size() - 1;
    const auto first = ranges_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto it =
        std::upper_bound(first, ranges_.end(), value, [](std::uint64_t v, const Range& r) { return v < r.end; });
    return static_cast<std::size_t>(it - ranges_.begin());
}

std::uint64_t RangeSet::insert(std::uint64_t begin, std::uint64_t end) {
    assert(begin <= end);
    if (begin == end) return 0;
    // Most numbers directly follow the newest one. Copying that interval would stall until the last store to its end,
    // and so all stores before that, are complete.
    if (!empty() && ranges_.back().end == begin) {
        ranges_.back().end = end;
        total_ += end - begin;
        return end - begin;
    }
    std::size_t first = first_ending_after(begin);
    // An interval that ends exactly at `begin` merges as well.
    if (first > head_ && ranges_[first - 1].end == begin) --first;

    Range merged{begin, end};
    std::uint64_t present = 0;
    std::size_t last = first;
    for (; last < ranges_.size() && ranges_[last].begin <= end; ++last) present += ranges_[last].size();
    if (last == first) {
        open_slot(first, merged);
    } else {
        merged.begin = std::min(begin, ranges_[first].begin);
        merged.end = std::max(end, ranges_[last - 1].end);
        ranges_[first] = merged;
        close_slots(first + 1, last);
    }
    total_ += merged.size() - present;
    return merged.size() - present;
}

std::uint64_t RangeSet::erase(std::uint64_t begin, std::uint64_t end) {
    assert(begin <= end);
    if (begin == end) return 0;
    std::size_t first = first_ending_after(begin);
    if (first == ranges_.size()) return 0;

    std::uint64_t removed = 0;
    if (ranges_[first].begin < begin) {
        const Range whole = ranges_[first];
        if (whole.end > end) {
            ranges_[first].begin = end;
            open_slot(first, Range{whole.begin, begin});
            total_ -= end - begin;
            return end - begin;
        }
        ranges_[first].end = begin;
        removed += whole.end - begin;
        ++first;
    }
    std::size_t last = first;
    for (; last < ranges_.size() && ranges_[last].end <= end; ++last) removed += ranges_[last].size();
    if (last < ranges_.size() && ranges_[last].begin < end) {
        removed += end - ranges_[last].begin;
        ranges_[last].begin = end;
    }
    close_slots(first, last);
    total_ -= removed;
    return removed;
}

void RangeSet::clear() noexcept {
    ranges_.clear();
    head_ = 0;
    total_ = 0;
}

bool RangeSet::contains(std::uint64_t value) const noexcept {
    const std::size_t i = first_ending_after(value);
    return i < ranges_.size() && ranges_[i].begin <= value;
}

bool RangeSet::contains(std::uint64_t begin, std::uint64_t end) const noexcept {
    if (begin >= end) return true;
    const std::size_t i = first_ending_after(begin);
    return i < ranges_.size() && ranges_[i].begin <= begin && ranges_[i].end >= end;
}

void RangeSet::open_slot(std::size_t index, Range value) {
    const std::size_t before = index - head_;
    if (before >= ranges_.size() - index) {
        ranges_.insert(ranges_.begin() + static_cast<std::ptrdiff_t>(index), value);
        return;
    }
    if (head_ == 0) {
        // The room equals the number of intervals: the cost of moving them is spread over as many insertions.
        const std::size_t spare = std::max<std::size_t>(count(), 8);
        ranges_.insert(ranges_.begin(), spare, Range{});
        head_ = spare;
    }
    const auto at = ranges_.begin() + static_cast<std::ptrdiff_t>(head_);
    std::move(at, at + static_cast<std::ptrdiff_t>(before), at - 1);
    --head_;
    ranges_[head_ + before] = value;
}

void RangeSet::close_slots(std::size_t from, std::size_t to) {
    if (from == to) return;
    const auto at = [this](std::size_t i) { return ranges_.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from - head_ >= ranges_.size() - to) {
        ranges_.erase(at(from), at(to));
    } else {
        std::move_backward(at(head_), at(from), at(to));
        head_ += to - from;
    }
    if (empty()) {
        ranges_.clear();
        head_ = 0;
    } else if (head_ > kSpareSlots && head_ > 2 * count()) {
        ranges_.erase(ranges_.begin(), at(head_));
        head_ = 0;
    }
}

}  // namespace udtx
