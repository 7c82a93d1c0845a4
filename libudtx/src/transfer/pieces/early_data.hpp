// Bytes of the data stream that arrived before their announcement on the control stream; one lost control packet is
// enough. The stream's flow-control window bounds them for any pattern: blocks have a fixed size, with one bit for each
// byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

namespace udtx::transfer {

class EarlyData {
  public:
    void hold(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Calls fn(offset, bytes) for all bytes held below `end`, in ascending order, and forgets them.
    template <class Fn>
    void release_below(std::uint64_t end, Fn&& fn) {
        while (!blocks_.empty() && blocks_.begin()->first < end) {
            const std::uint64_t base = blocks_.begin()->first;
            const std::size_t limit = end - base < kBlock ? static_cast<std::size_t>(end - base) : kBlock;
            Block& block = *blocks_.begin()->second;
            std::size_t at = 0;
            for (Run run = next_run(block, at, limit); run.begin < run.end; run = next_run(block, at, limit)) {
                fn(base + run.begin, std::span<const std::byte>(block.bytes).subspan(run.begin, run.end - run.begin));
                at = run.end;
            }
            if (limit < kBlock) {
                if (!clear_below(block, limit)) return;
            }
            blocks_.erase(blocks_.begin());
        }
    }
    [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }
    /// Total memory. It is at most 1.13 times the span of offsets that may arrive (the stream's window), plus two
    /// blocks.
    [[nodiscard]] std::size_t held_bytes() const noexcept { return blocks_.size() * (sizeof(Block) + kNodeBytes); }
    void clear() { blocks_.clear(); }

  private:
    static constexpr std::size_t kBlock = 64U << 10U;
    static constexpr std::size_t kNodeBytes = 96;  // of the map's node and of two allocations
    struct Block {
        std::array<std::byte, kBlock> bytes;
        std::array<std::uint64_t, kBlock / 64> present{};
    };
    struct Run {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    [[nodiscard]] static Run next_run(const Block& block, std::size_t at, std::size_t limit);
    /// True: the block is empty.
    static bool clear_below(Block& block, std::size_t limit);

    std::map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // by stream offset of the block
};

}  // namespace udtx::transfer
