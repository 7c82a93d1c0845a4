// Assembles the bytes of the data stream into whole pieces, on the protocol thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "transfer/pieces/early_data.hpp"
#include "transfer/pieces/piece_map.hpp"
#include "udtx/core/chunk.hpp"

namespace udtx::transfer {

struct WholePiece {
    Piece piece;
    Chunk data;
};

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
