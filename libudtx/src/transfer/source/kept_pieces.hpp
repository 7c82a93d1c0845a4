// Pieces that the receiver has of a file, compared with the source: those that are the same need not be sent.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "transfer/pieces/piece_hasher.hpp"
#include "transfer/source/resume_answers.hpp"

namespace udtx::transfer {

class KeptPieces {
  public:
    /// `hasher` outlives it.
    KeptPieces(PieceHasher& hasher, RemoteHolding holding) : hasher_(&hasher), holding_(std::move(holding)) {}

    /// The receiver has said what it has.
    void learn(RemoteHolding holding) { holding_ = std::move(holding); }
    [[nodiscard]] Holding has() const noexcept { return holding_.has; }
    [[nodiscard]] std::uint8_t changes() const noexcept { return holding_.changes; }
    [[nodiscard]] bool none() const noexcept { return holding_.pieces.empty(); }

    /// From the front, one piece a call: whether all of the file is the same, when that is known.
    [[nodiscard]] std::optional<bool> compare(int fd, std::uint64_t size);
    /// So far it is the same.
    [[nodiscard]] std::uint64_t same_until() const noexcept { return same_until_; }

    /// Pieces at the front of the range that are the same, a few; each is had once.
    [[nodiscard]] std::vector<ProvenPiece> take_run(int fd, const Extent& range);
    /// So many bytes at the front of the range come before the next piece that might be the same.
    [[nodiscard]] std::uint64_t fresh_run(const Extent& range) const;

  private:
    PieceHasher* hasher_;
    RemoteHolding holding_;
    std::uint64_t same_until_ = 0;
};

}  // namespace udtx::transfer
