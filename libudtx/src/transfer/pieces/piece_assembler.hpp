// Puts the bytes of the data stream together to whole pieces, on the protocol thread.
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
    /// Announces more data of the latest file. False: beyond what a stream can hold.
    [[nodiscard]] bool announce(const Extent& extent);
    /// Data of the latest file that does not come.
    void skip(const Extent& extent) { map_.skip(extent); }
    /// Any cut, any order, each byte once (the transport's promise).
    void on_bytes(std::uint64_t stream_offset, std::span<const std::byte> bytes);
    /// The pieces that have become whole since the last call.
    [[nodiscard]] std::vector<WholePiece>& whole() noexcept { return whole_; }

    [[nodiscard]] const PieceMap& map() const noexcept { return map_; }
    /// Everything announced has come.
    [[nodiscard]] bool complete() const noexcept { return map_.open_extents() == 0; }
    /// Memory, all told but for idle buffers.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return early_.held_bytes() + slot_bytes_ + map_.open_extents() * sizeof(Slot);
    }
    /// Bytes came that nobody has announced.
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
    Slot* latest_ = nullptr;  // packets mostly go on where the last one ended
    std::vector<WholePiece> whole_;
};

}  // namespace udtx::transfer
