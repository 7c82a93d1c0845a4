// Data stream offset -> place in a file. Both ends build the same map from the extents in the order of their
// announcement. A piece is the part of one extent that lies inside one block of kPieceBytes of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

inline constexpr std::uint64_t kPieceBytes = 1U << 20U;

/// Length of the piece that starts at `file_offset` with `remaining` bytes of its extent to come; remaining > 0.
[[nodiscard]] constexpr std::uint64_t piece_length(std::uint64_t file_offset, std::uint64_t remaining) noexcept {
    const std::uint64_t to_boundary = kPieceBytes - file_offset % kPieceBytes;
    return remaining < to_boundary ? remaining : to_boundary;
}
/// Pieces that an extent is cut into; length > 0.
[[nodiscard]] constexpr std::uint64_t piece_count(const Extent& extent) noexcept {
    return (extent.offset + extent.length - 1) / kPieceBytes - extent.offset / kPieceBytes + 1;
}

struct Piece {
    std::uint64_t file = 0;     ///< index of the entry
    std::uint64_t ordinal = 0;  ///< counts the file's pieces from 0
    std::uint64_t file_offset = 0;
    std::uint64_t length = 0;         ///< 1 .. kPieceBytes
    std::uint64_t stream_offset = 0;  ///< where the piece begins in the data stream
    friend bool operator==(const Piece&, const Piece&) noexcept = default;
};

/// Keeps the extents that are not complete yet.
class PieceMap {
  public:
    /// Data of the latest file; length > 0. False: the stream would exceed 2^62 bytes, nothing was added.
    [[nodiscard]] bool append(const Extent& extent);
    /// Data of the latest file that is not in the stream, but has its pieces.
    void skip(const Extent& extent) { next_ordinal_ += piece_count(extent); }
    /// The piece that holds this byte of the stream; nullopt: not announced yet, or complete and forgotten.
    [[nodiscard]] std::optional<Piece> find(std::uint64_t stream_offset) const;
    /// All bytes of this piece are there; extents that are complete are forgotten from the front.
    void complete(const Piece& piece);

    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }  ///< announced bytes
    [[nodiscard]] std::size_t open_extents() const noexcept { return runs_.size(); }
    [[nodiscard]] std::uint64_t open_bytes() const noexcept { return missing_; }  ///< announced, not complete
    /// Pieces announced so far of the latest file.
    [[nodiscard]] std::uint64_t latest_file_pieces() const noexcept { return next_ordinal_; }
    /// To be called at each file, also for those without data.
    void begin_file(std::uint64_t file) noexcept {
        file_ = file;
        next_ordinal_ = 0;
    }

  private:
    struct Run {
        std::uint64_t stream_begin = 0;
        std::uint64_t file = 0;
        Extent extent;
        std::uint64_t first_ordinal = 0;
        std::uint64_t missing = 0;  // bytes
    };
    [[nodiscard]] std::size_t index_of(std::uint64_t stream_offset) const;  // of the run, or runs_.size()

    std::deque<Run> runs_;
    std::uint64_t end_ = 0;
    std::uint64_t missing_ = 0;
    std::uint64_t file_ = 0;
    std::uint64_t next_ordinal_ = 0;
};

}  // namespace udtx::transfer
