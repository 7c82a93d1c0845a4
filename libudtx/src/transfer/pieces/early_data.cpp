#include "transfer/pieces/early_data.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace udtx::transfer {

namespace {

/// Bits [begin, end) of one word, end <= 64.
std::uint64_t mask(std::size_t begin, std::size_t end) {
    const std::uint64_t below_end = end == 64 ? ~0ULL : (1ULL << end) - 1;
    return below_end & ~((1ULL << begin) - 1);
}

/// First position at or after `at`, below `limit`, whose bit equals `value`; else `limit`.
template <std::size_t N>
std::size_t find_bit(const std::array<std::uint64_t, N>& words, std::size_t at, std::size_t limit, bool value) {
    while (at < limit) {
        const std::uint64_t word = (value ? words[at / 64] : ~words[at / 64]) & mask(at % 64, 64);
        if (word != 0) return std::min(limit, at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(word)));
        at = (at / 64 + 1) * 64;
    }
    return limit;
}

}  // namespace

void EarlyData::hold(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::uint64_t base = offset / kBlock * kBlock;
        const auto from = static_cast<std::size_t>(offset - base);
        const std::size_t n = std::min(bytes.size(), kBlock - from);
        auto& block = blocks_[base];
        if (!block) block = std::make_unique<Block>();
        std::memcpy(block->bytes.data() + from, bytes.data(), n);
        for (std::size_t at = from; at < from + n;) {
            const std::size_t stop = std::min(from + n, (at / 64 + 1) * 64);
            block->present[at / 64] |= mask(at % 64, stop - at / 64 * 64);
            at = stop;
        }
        offset += n;
        bytes = bytes.subspan(n);
    }
}

EarlyData::Run EarlyData::next_run(const Block& block, std::size_t at, std::size_t limit) {
    const std::size_t begin = find_bit(block.present, at, limit, true);
    return {begin, find_bit(block.present, begin, limit, false)};
}

bool EarlyData::clear_below(Block& block, std::size_t limit) {
    for (std::size_t at = 0; at < limit;) {
        const std::size_t stop = std::min(limit, (at / 64 + 1) * 64);
        block.present[at / 64] &= ~mask(at % 64, stop - at / 64 * 64);
        at = stop;
    }
    return std::all_of(block.present.begin(), block.present.end(), [](std::uint64_t word) { return word == 0; });
}

}  // namespace udtx::transfer
