// Compares the receiver's pieces of a file with the source. Equal pieces need not be sent.
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

    /// Stores what the receiver has, once that is known.
    void learn(RemoteHolding holding) { holding_ = std::move(holding); }
    [[nodiscard]] Holding has() const noexcept { return holding_.has; }
    [[nodiscard]] std::uint8_t changes() const noexcept { return holding_.changes; }
    [[nodiscard]] bool none() const noexcept { return holding_.pieces.empty(); }

    /// Compares one more piece, from the front. It returns whether the whole file is the same, once that is known.
    [[nodiscard]] std::optional<bool> compare(int fd, std::uint64_t size);
    /// End of the part that was found to be the same.
    [[nodiscard]] std::uint64_t same_until() const noexcept { return same_until_; }

    /// Takes a few equal pieces at the front of the range; each piece is returned once.
    [[nodiscard]] std::vector<ProvenPiece> take_run(int fd, const Extent& range);
    /// Bytes at the front of the range before the next piece that might be the same.
    [[nodiscard]] std::uint64_t fresh_run(const Extent& range) const;

  private:
    PieceHasher* hasher_;
    RemoteHolding holding_;
    std::uint64_t same_until_ = 0;
};

}  // namespace udtx::transfer
