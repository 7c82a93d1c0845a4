#include "transfer/pieces/piece_map.hpp"

#include <algorithm>
#include <cassert>

#include "wire/cursor.hpp"

namespace udtx::transfer {

bool PieceMap::append(const Extent& extent) {
    assert(extent.length > 0);
    if (extent.length > wire::kVarintMax - end_ || extent.length > wire::kVarintMax - extent.offset) return false;
    runs_.push_back({end_, file_, extent, next_ordinal_, extent.length});
    end_ += extent.length;
    missing_ += extent.length;
    next_ordinal_ += piece_count(extent);
    return true;
}

std::size_t PieceMap::index_of(std::uint64_t stream_offset) const {
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), stream_offset,
                                        [](std::uint64_t offset, const Run& run) { return offset < run.stream_begin; });
    if (after == runs_.begin()) return runs_.size();
    const auto run = std::prev(after);
    if (stream_offset - run->stream_begin >= run->extent.length) return runs_.size();
    return static_cast<std::size_t>(run - runs_.begin());
}

std::optional<Piece> PieceMap::find(std::uint64_t stream_offset) const {
    const std::size_t at = index_of(stream_offset);
    if (at == runs_.size()) return std::nullopt;
    const Run& run = runs_[at];
    const std::uint64_t file_offset = run.extent.offset + (stream_offset - run.stream_begin);
    const std::uint64_t block = file_offset / kPieceBytes;
    Piece piece;
    piece.file = run.file;
    piece.ordinal = run.first_ordinal + block - run.extent.offset / kPieceBytes;
    piece.file_offset = std::max(block * kPieceBytes, run.extent.offset);
    piece.length = piece_length(piece.file_offset, run.extent.offset + run.extent.length - piece.file_offset);
    piece.stream_offset = run.stream_begin + (piece.file_offset - run.extent.offset);
    return piece;
}

void PieceMap::complete(const Piece& piece) {
    const std::size_t at = index_of(piece.stream_offset);
    assert(at < runs_.size() && runs_[at].missing >= piece.length);
    runs_[at].missing -= piece.length;
    missing_ -= piece.length;
    while (!runs_.empty() && runs_.front().missing == 0) runs_.pop_front();
}

}  // namespace udtx::transfer
