#include "transfer/receipt/block_hasher.hpp"

#include <algorithm>
#include <cerrno>
#include <span>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

std::optional<std::span<const std::byte>> BlockHasher::read(std::uint64_t offset, std::uint64_t length) {
    const auto room = std::span(block_.get(), static_cast<std::size_t>(length));
    std::size_t count = 0;
    error_ = read_all_at(fd_, room, offset, count);
    if (error_ == 0 && count < room.size()) error_ = ENODATA;
    if (error_ != 0) return std::nullopt;
    return room;
}

std::optional<Digest> BlockHasher::hash(std::uint64_t offset, std::uint64_t length) {
    const auto bytes = read(offset, length);
    if (!bytes) return std::nullopt;
    hasher_.reset();
    hasher_.update(*bytes);
    return hasher_.finish();
}

std::optional<ProvenPiece> BlockHasher::next() {
    if (at_ == size_) return std::nullopt;
    ProvenPiece piece{.offset = at_, .length = piece_length(at_, size_ - at_), .digest = {}};
    const auto digest = hash(piece.offset, piece.length);
    if (!digest) return std::nullopt;
    piece.digest = *digest;
    at_ += piece.length;
    return piece;
}

std::optional<bool> BlockHasher::is_zero(std::uint64_t offset, std::uint64_t length) {
    while (length > 0) {
        const std::uint64_t part = std::min(length, kPieceBytes);
        const auto bytes = read(offset, part);
        if (!bytes) return std::nullopt;
        if (!std::all_of(bytes->begin(), bytes->end(), [](std::byte b) { return b == std::byte{}; })) return false;
        offset += part;
        length -= part;
    }
    return true;
}

}  // namespace udtx::transfer
