// Compares RangeSet with a bitmap. Each operation has three bytes: kind, offset, length.
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "base/containers.hpp"
#include "fuzz/require.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {3, "a set of ranges contains the same numbers as a bitmap"}};

using udtx::fuzz::require;

namespace {

constexpr std::size_t kUniverse = 512;
using Bitmap = std::bitset<kUniverse>;

Bitmap mask(std::uint64_t begin, std::uint64_t end) {
    Bitmap bits;
    for (std::uint64_t n = begin; n < end; ++n) bits.set(static_cast<std::size_t>(n));
    return bits;
}

void compare(const udtx::RangeSet& set, const Bitmap& model) {
    Bitmap bits;
    std::uint64_t last_end = 0;
    for (const udtx::Range range : set.intervals()) {
        require(range.begin < range.end && range.end <= kUniverse, "intervals are not empty");
        require(bits.none() || range.begin > last_end, "intervals ascend and do not touch");
        last_end = range.end;
        bits |= mask(range.begin, range.end);
    }
    require(bits == model, "the set holds what the model holds");
    require(set.total() == model.count(), "total() counts the numbers");
    require(set.empty() == model.none(), "empty()");
}

void ask(const udtx::RangeSet& set, const Bitmap& model, std::uint64_t begin, std::uint64_t end) {
    const Bitmap wanted = mask(begin, end);
    require(set.contains(begin) == model[static_cast<std::size_t>(begin)], "contains(number)");
    require(set.contains(begin, end) == ((model & wanted) == wanted), "contains(interval)");
    Bitmap gaps;
    set.for_each_gap(begin, end, [&gaps](std::uint64_t b, std::uint64_t e) { gaps |= mask(b, e); });
    require(gaps == (wanted & ~model), "the gaps are what the model lacks");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    udtx::RangeSet set;
    Bitmap model;
    for (std::size_t i = 0; i + 3 <= size; i += 3) {
        const std::uint64_t begin = data[i + 1] + (data[i] >= 0x80 ? 200U : 0U);
        const std::uint64_t end = begin + data[i + 2] % 57;
        const Bitmap bits = mask(begin, end);
        switch (data[i] % 8) {
            case 0:
            case 1:
            case 2:
            case 3:
                require(set.insert(begin, end) == (bits & ~model).count(), "insert() counts what is new");
                model |= bits;
                break;
            case 4:
            case 5:
            case 6:
                require(set.erase(begin, end) == (bits & model).count(), "erase() counts what was there");
                model &= ~bits;
                break;
            default:
                ask(set, model, begin, end);
                break;
        }
        compare(set, model);
    }
    return 0;
}
