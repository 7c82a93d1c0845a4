// Compares RangeSet with a std::set of single numbers, over seeded random operations.
#include <random>
#include <set>

#include "base/containers.hpp"
#include "test/catch.hpp"

using udtx::Range;
using udtx::RangeSet;

namespace {

class Model {
  public:
    std::uint64_t insert(std::uint64_t begin, std::uint64_t end) {
        const std::size_t before = numbers_.size();
        for (std::uint64_t n = begin; n < end; ++n) numbers_.insert(n);
        return numbers_.size() - before;
    }
    std::uint64_t erase(std::uint64_t begin, std::uint64_t end) {
        const std::size_t before = numbers_.size();
        numbers_.erase(numbers_.lower_bound(begin), numbers_.lower_bound(end));
        return before - numbers_.size();
    }
    [[nodiscard]] bool contains(std::uint64_t n) const { return numbers_.count(n) != 0; }
    [[nodiscard]] std::vector<Range> intervals() const {
        std::vector<Range> out;
        for (const std::uint64_t n : numbers_) {
            if (!out.empty() && out.back().end == n) {
                ++out.back().end;
            } else {
                out.push_back({n, n + 1});
            }
        }
        return out;
    }
    [[nodiscard]] std::size_t size() const { return numbers_.size(); }

  private:
    std::set<std::uint64_t> numbers_;
};

void compare(const RangeSet& set, const Model& model, std::uint64_t begin, std::uint64_t end) {
    const auto expected = model.intervals();
    REQUIRE(std::vector<Range>(set.intervals().begin(), set.intervals().end()) == expected);
    REQUIRE(set.count() == expected.size());
    REQUIRE(set.total() == model.size());
    REQUIRE(set.empty() == expected.empty());
    if (!expected.empty()) {
        REQUIRE(set.front() == expected.front());
        REQUIRE(set.back() == expected.back());
    }
    bool all = true;
    for (std::uint64_t n = begin; n < end; ++n) {
        REQUIRE(set.contains(n) == model.contains(n));
        all = all && model.contains(n);
    }
    REQUIRE(set.contains(begin, end) == all);
    Range first{end, end};
    Model filled = model;
    std::uint64_t missing = 0;
    set.for_each_gap(begin, end, [&](std::uint64_t b, std::uint64_t e) {
        REQUIRE(begin <= b);
        REQUIRE(b < e);
        REQUIRE(e <= end);
        missing += e - b;
        if (first.size() == 0) first = {b, e};
        REQUIRE(filled.insert(b, e) == e - b);
    });
    REQUIRE(set.first_gap(begin, end) == first);
    REQUIRE(filled.insert(begin, end) == 0);
    REQUIRE(missing == filled.size() - model.size());
}

}  // namespace

TEST_CASE("a range set behaves as a set of numbers") {
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        const std::uint64_t universe = seed % 2 == 0 ? 100 : 400;
        const std::uint64_t longest = seed % 3 == 0 ? 30 : 3;
        RangeSet set;
        Model model;
        for (int step = 0; step < 200; ++step) {
            const std::uint64_t begin = random() % universe;
            const std::uint64_t end = begin + random() % (longest + 1);
            if (random() % 5 < 3) {
                REQUIRE(set.insert(begin, end) == model.insert(begin, end));
            } else {
                REQUIRE(set.erase(begin, end) == model.erase(begin, end));
            }
            const std::uint64_t ask = random() % universe;
            compare(set, model, ask, ask + random() % 20);
        }
        set.clear();
        compare(set, Model(), 0, 10);
    }
}
