// Pieces of files: where they belong, how they are hashed, and how a received file is verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "base/chunk.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/core/chunk.hpp"

namespace udtx::transfer {

// Maps offsets of the data stream to places in files. Both ends build the same map from the extents, in the order of
// their announcement. A piece is the part of one extent that lies within one block of kPieceBytes of the file.

inline constexpr std::uint64_t kPieceBytes = 1U << 20U;

/// Length of the piece that starts at `file_offset`. `remaining` > 0: the bytes of its extent from there on.
[[nodiscard]] constexpr std::uint64_t piece_length(std::uint64_t file_offset, std::uint64_t remaining) noexcept {
    const std::uint64_t to_boundary = kPieceBytes - file_offset % kPieceBytes;
    return remaining < to_boundary ? remaining : to_boundary;
}
/// Number of pieces of an extent; length > 0.
[[nodiscard]] constexpr std::uint64_t piece_count(const Extent& extent) noexcept {
    return (extent.offset + extent.length - 1) / kPieceBytes - extent.offset / kPieceBytes + 1;
}

struct Piece {
    std::uint64_t file = 0;     ///< index of the entry
    std::uint64_t ordinal = 0;  ///< counts the file's pieces from 0
    std::uint64_t file_offset = 0;
    std::uint64_t length = 0;         ///< 1 .. kPieceBytes
    std::uint64_t stream_offset = 0;  ///< where the piece starts in the data stream
    friend bool operator==(const Piece&, const Piece&) noexcept = default;
};

struct WholePiece {
    Piece piece;
    Chunk data;
};

/// Keeps the extents that are not complete yet.
class PieceMap {
  public:
    /// Appends data of the latest file; length > 0. False: the stream would exceed 2^62 bytes, and nothing was added.
    [[nodiscard]] bool append(const Extent& extent);
    /// Counts the pieces of data that the stream leaves out.
    void skip(const Extent& extent) { next_ordinal_ += piece_count(extent); }
    /// The piece that holds this byte of the stream; nullopt: not announced yet, or complete and forgotten.
    [[nodiscard]] std::optional<Piece> find(std::uint64_t stream_offset) const;
    /// Marks all bytes of this piece as received; complete extents at the front are forgotten.
    void complete(const Piece& piece);

    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }  ///< announced bytes
    [[nodiscard]] std::size_t open_extents() const noexcept { return runs_.size(); }
    [[nodiscard]] std::uint64_t open_bytes() const noexcept { return missing_; }  ///< announced, not complete
    /// Number of pieces of the latest file announced so far.
    [[nodiscard]] std::uint64_t latest_file_pieces() const noexcept { return next_ordinal_; }
    /// Call it for each file, also for those without data.
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

// Reads pieces of files and hashes them.

class PieceHasher {
  public:
    explicit PieceHasher(HashAlgorithm hash) : hasher_(hash) {}

    /// Digest of at most kPieceBytes. nullopt: they cannot be read, or the file ends earlier: see error().
    [[nodiscard]] std::optional<Digest> hash(int fd, std::uint64_t offset, std::uint64_t length);
    /// Adds at most kPieceBytes to the hash of a longer sequence. False: as nullopt of hash().
    [[nodiscard]] bool add_to(Hasher& sequence, int fd, std::uint64_t offset, std::uint64_t length);
    /// True if all bytes of a range of any length are zero; nullopt as for hash().
    [[nodiscard]] std::optional<bool> is_zero(int fd, std::uint64_t offset, std::uint64_t length);
    /// Result of the latest call: 0, an errno, or ENODATA if the file ends too early.
    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    [[nodiscard]] std::optional<std::span<const std::byte>> read(int fd, std::uint64_t offset, std::uint64_t length);

    Hasher hasher_;
    PageBlock block_;
    int error_ = 0;
};

// Verifies one received file. It compares each piece's digest with the sender's, in whichever order the two arrive, and
// computes the digest of the file.

class FileVerifier {
  public:
    FileVerifier(HashAlgorithm algorithm, std::uint64_t size) : digest_(algorithm, size) {}

    /// A piece that was received and hashed.
    void computed(std::uint64_t ordinal, const ProvenPiece& piece);
    /// The sender's digest of the piece.
    void expected(std::uint64_t ordinal, const Digest& digest);
    /// True if a piece differs; it stays true.
    [[nodiscard]] bool mismatch() const noexcept { return mismatch_; }
    /// Number of pieces verified without a gap from the first.
    [[nodiscard]] std::uint64_t verified() const noexcept { return next_; }
    /// Number of pieces that lack one of the two digests, or an earlier piece.
    [[nodiscard]] std::size_t waiting() const noexcept { return slots_.size(); }
    /// Call it once, when all pieces are verified.
    [[nodiscard]] Digest finish() { return digest_.finish(); }

  private:
    struct Slot {
        std::optional<ProvenPiece> computed;
        std::optional<Digest> expected;
    };
    void advance();

    FileDigest digest_;
    std::map<std::uint64_t, Slot> slots_;
    std::uint64_t next_ = 0;
    bool mismatch_ = false;
};

}  // namespace udtx::transfer
