// Makes whole pieces of the bytes of the data stream, which may arrive before their announcement.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "transfer/file/pieces.hpp"
#include "udtx/core/chunk.hpp"

namespace udtx::transfer {

// Bytes of the data stream that arrived before their announcement on the control stream; one lost control packet is
// enough. The stream's flow-control window bounds them for any pattern: blocks have a fixed size, with one bit for each
// byte.

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

// Assembles the bytes of the data stream into whole pieces, on the protocol thread.

class PieceAssembler {
  public:
    PieceAssembler();

    void begin_file(std::uint64_t file) noexcept { map_.begin_file(file); }
    /// Announces more data of the latest file. False: more than a stream can hold.
    [[nodiscard]] bool announce(const Extent& extent);
    /// Skips data of the latest file that is not sent.
    void skip(const Extent& extent) { map_.skip(extent); }
    /// Takes bytes in any cut and any order. The transport delivers each byte once.
    void on_bytes(std::uint64_t stream_offset, std::span<const std::byte> bytes);
    /// The pieces that have become complete; the caller clears the list.
    [[nodiscard]] std::vector<WholePiece>& whole() noexcept { return whole_; }

    [[nodiscard]] const PieceMap& map() const noexcept { return map_; }
    /// True if all announced data has arrived.
    [[nodiscard]] bool complete() const noexcept { return map_.open_extents() == 0; }
    /// Total memory, without idle buffers.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return early_.held_bytes() + slot_bytes_ + map_.open_extents() * sizeof(Slot);
    }
    /// True if it holds bytes that were not announced.
    [[nodiscard]] bool has_unannounced() const noexcept { return !early_.empty(); }

  private:
    struct Slot {
        Piece piece;
        Chunk data;
        std::uint64_t received = 0;
    };
    [[nodiscard]] Slot* slot_at(std::uint64_t stream_offset);
    void place(Slot& slot, std::uint64_t stream_offset, std::span<const std::byte> bytes);
    [[nodiscard]] Chunk buffer_for(std::uint64_t length);

    PieceMap map_;
    EarlyData early_;
    ChunkPool pool_;
    std::unordered_map<std::uint64_t, Slot> slots_;  // by the piece's stream offset
    std::uint64_t slot_bytes_ = 0;
    Slot* latest_ = nullptr;  // most packets continue where the last one ended
    std::vector<WholePiece> whole_;
};

}  // namespace udtx::transfer
