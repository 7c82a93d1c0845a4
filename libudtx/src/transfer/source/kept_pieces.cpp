#include "transfer/source/kept_pieces.hpp"

#include <cstddef>

#include "transfer/pieces/piece_map.hpp"

namespace udtx::transfer {

namespace {

// Pieces compared in one call, so that other tasks get their turn.
constexpr std::size_t kComparedAtOnce = 16;

}  // namespace

// A piece that cannot be read counts as different; the error is reported when the piece is to be sent.

std::optional<bool> KeptPieces::compare(int fd, std::uint64_t size) {
    if (same_until_ >= size) return true;
    const std::uint64_t length = piece_length(same_until_, size - same_until_);
    const auto there = holding_.pieces.find(same_until_);
    const bool same = there != holding_.pieces.end() && there->second.length == length &&
                      hasher_->hash(fd, same_until_, length) == there->second.digest;
    if (!same) return false;
    same_until_ += length;
    return std::nullopt;
}

std::vector<ProvenPiece> KeptPieces::take_run(int fd, const Extent& range) {
    std::vector<ProvenPiece> run;
    std::uint64_t done = 0;
    while (done < range.length && run.size() < kComparedAtOnce) {
        const std::uint64_t offset = range.offset + done;
        const std::uint64_t length = piece_length(offset, range.length - done);
        const auto node = holding_.pieces.extract(offset);
        if (!node) break;
        const ProvenPiece& piece = node.mapped();
        const bool same =
            piece.length == length && (offset < same_until_ || hasher_->hash(fd, offset, length) == piece.digest);
        if (!same) break;
        run.push_back(piece);
        done += length;
    }
    return run;
}

std::uint64_t KeptPieces::fresh_run(const Extent& range) const {
    if (holding_.pieces.empty()) return range.length;
    std::uint64_t length = piece_length(range.offset, range.length);
    while (length < range.length && holding_.pieces.count(range.offset + length) == 0) {
        length += piece_length(range.offset + length, range.length - length);
    }
    return length;
}

}  // namespace udtx::transfer
