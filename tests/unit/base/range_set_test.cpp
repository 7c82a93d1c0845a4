#include "base/containers.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "test/catch.hpp"

using udtx::Range;
using udtx::RangeSet;

namespace {

std::vector<Range> intervals(const RangeSet& set) { return {set.intervals().begin(), set.intervals().end()}; }

std::vector<Range> gaps(const RangeSet& set, std::uint64_t begin, std::uint64_t end) {
    std::vector<Range> out;
    set.for_each_gap(begin, end, [&out](std::uint64_t b, std::uint64_t e) { out.push_back({b, e}); });
    return out;
}

}  // namespace

TEST_CASE("neighbouring and overlapping intervals merge") {
    RangeSet set;
    CHECK(set.insert(10, 20) == 10);
    CHECK(set.insert(30, 40) == 10);
    CHECK(set.insert(20, 25) == 5);
    CHECK(set.insert(25, 25) == 0);
    CHECK(intervals(set) == std::vector<Range>{{10, 25}, {30, 40}});
    CHECK(set.insert(24, 30) == 5);
    CHECK(intervals(set) == std::vector<Range>{{10, 40}});
    CHECK(set.insert(0, 100) == 70);
    CHECK(set.insert(50, 60) == 0);
    CHECK(set.total() == 100);
    CHECK(set.count() == 1);
}

TEST_CASE("erasing trims, splits and removes") {
    RangeSet set;
    set.insert(0, 100);
    CHECK(set.erase(40, 60) == 20);
    CHECK(intervals(set) == std::vector<Range>{{0, 40}, {60, 100}});
    CHECK(set.erase(30, 70) == 20);
    CHECK(set.erase(30, 70) == 0);
    CHECK(intervals(set) == std::vector<Range>{{0, 30}, {70, 100}});
    CHECK(set.erase(0, 70) == 30);
    CHECK(set.front() == Range{70, 100});
    CHECK(set.back() == Range{70, 100});
    CHECK(set.erase(0, 1000) == 30);
    CHECK(set.empty());
    CHECK(set.total() == 0);
    CHECK(set.erase(0, 1) == 0);
}

TEST_CASE("questions to an empty and a filled set") {
    RangeSet set;
    CHECK_FALSE(set.contains(0));
    CHECK(set.contains(5, 5));
    CHECK(gaps(set, 3, 7) == std::vector<Range>{{3, 7}});
    CHECK(gaps(set, 3, 3).empty());
    set.insert(10, 20);
    set.insert(30, 40);
    CHECK(set.contains(10));
    CHECK(set.contains(19));
    CHECK_FALSE(set.contains(9));
    CHECK_FALSE(set.contains(20));
    CHECK(set.contains(12, 20));
    CHECK_FALSE(set.contains(12, 21));
    CHECK_FALSE(set.contains(15, 35));
    CHECK(gaps(set, 0, 50) == std::vector<Range>{{0, 10}, {20, 30}, {40, 50}});
    CHECK(gaps(set, 15, 35) == std::vector<Range>{{20, 30}});
    CHECK(gaps(set, 10, 20).empty());
    CHECK(gaps(set, 20, 30) == std::vector<Range>{{20, 30}});
}

TEST_CASE("the largest numbers are handled") {
    constexpr std::uint64_t top = ~std::uint64_t{0};
    RangeSet set;
    CHECK(set.insert(top - 1, top) == 1);
    CHECK(set.insert(0, 1) == 1);
    CHECK(set.insert(1, top - 1) == top - 2);
    CHECK(set.total() == top);
    CHECK(set.count() == 1);
}

// A receiver at 50 % loss: every second number arrives, then the holes are filled from the oldest while new numbers
// arrive. A structure that moves all its elements at each change would move 10^5 x 10^5 x 16 bytes here.
TEST_CASE("many holes cost no more than their number") {
    constexpr std::uint64_t n = 200000;
    const auto start = std::chrono::steady_clock::now();
    RangeSet set;
    for (std::uint64_t i = 0; i < n; i += 2) set.insert(i, i + 1);
    CHECK(set.count() == n / 2);
    for (std::uint64_t i = 1; i < n; i += 2) {
        set.insert(i, i + 1);
        set.insert(n + i, n + i + 1);
    }
    CHECK(set.count() == n / 2 + 1);
    // Removed one by one from the front, then added downwards from the end.
    for (std::uint64_t i = n + 1; i < 2 * n; i += 2) set.erase(i - 1, i + 1);
    CHECK(intervals(set) == std::vector<Range>{{0, n}});
    for (std::uint64_t i = 0; i < n; i += 2) set.insert(4 * n - i, 4 * n - i + 1);
    CHECK(set.count() == n / 2 + 1);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}
