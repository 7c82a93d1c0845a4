#include "sim/pattern.hpp"

#include <cassert>
#include <cstring>
#include <iterator>
#include <memory>

#include "sim/prng.hpp"

namespace udtx::sim::pattern {
namespace {

const std::shared_ptr<std::byte[]>& block() {
    static const std::shared_ptr<std::byte[]> memory = [] {
        std::shared_ptr<std::byte[]> made(new std::byte[kPeriod + kMaxChunk]);
        SimRng rng(0x7061747465726eULL);
        rng.fill({made.get(), kPeriod});
        std::memcpy(made.get() + kPeriod, made.get(), kPeriod);
        std::memcpy(made.get() + 2 * kPeriod, made.get(), kMaxChunk - kPeriod);
        return made;
    }();
    return memory;
}

}  // namespace

Chunk chunk(std::uint64_t offset, std::size_t size) {
    assert(size <= kMaxChunk);
    const auto& memory = block();
    return {std::shared_ptr<std::byte[]>(memory, memory.get() + offset % kPeriod), size};
}

bool matches(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t n = bytes.size() < kMaxChunk ? bytes.size() : kMaxChunk;
        if (std::memcmp(bytes.data(), block().get() + offset % kPeriod, n) != 0) return false;
        bytes = bytes.subspan(n);
        offset += n;
    }
    return true;
}

bool Ledger::add(std::uint64_t offset, std::uint64_t size) {
    if (size == 0) return true;
    const std::uint64_t end = offset + size;
    auto after = pieces_.lower_bound(offset);
    if (after != pieces_.end() && after->first < end) return false;
    total_ += size;
    const bool touches_after = after != pieces_.end() && after->first == end;
    if (after != pieces_.begin()) {
        const auto before = std::prev(after);
        if (before->second > offset) {
            total_ -= size;
            return false;
        }
        if (before->second == offset) {
            before->second = touches_after ? after->second : end;
            if (touches_after) pieces_.erase(after);
            return true;
        }
    }
    const std::uint64_t merged_end = touches_after ? after->second : end;
    if (touches_after) after = pieces_.erase(after);
    pieces_.emplace_hint(after, offset, merged_end);
    return true;
}

bool Ledger::complete(std::uint64_t size) const noexcept {
    if (size == 0) return pieces_.empty();
    return pieces_.size() == 1 && pieces_.begin()->first == 0 && pieces_.begin()->second == size;
}

}  // namespace udtx::sim::pattern
