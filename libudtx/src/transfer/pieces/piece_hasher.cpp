#include "transfer/pieces/piece_hasher.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transfer/file/file_io.hpp"
#include "transfer/pieces/piece_map.hpp"

namespace udtx::transfer {

std::optional<std::span<const std::byte>> PieceHasher::read(int fd, std::uint64_t offset, std::uint64_t length) {
    if (!block_) block_ = make_page_block(kPieceBytes);
    const auto room = std::span(block_.get(), static_cast<std::size_t>(std::min(length, kPieceBytes)));
    std::size_t count = 0;
    error_ = read_all_at(fd, room, offset, count);
    if (error_ == 0 && count != length) error_ = ENODATA;
    if (error_ != 0) return std::nullopt;
    return room;
}

std::optional<Digest> PieceHasher::hash(int fd, std::uint64_t offset, std::uint64_t length) {
    const auto bytes = read(fd, offset, length);
    if (!bytes) return std::nullopt;
    hasher_.reset();
    hasher_.update(*bytes);
    return hasher_.finish();
}

bool PieceHasher::add_to(Hasher& sequence, int fd, std::uint64_t offset, std::uint64_t length) {
    const auto bytes = read(fd, offset, length);
    if (bytes) sequence.update(*bytes);
    return bytes.has_value();
}

std::optional<bool> PieceHasher::is_zero(int fd, std::uint64_t offset, std::uint64_t length) {
    while (length > 0) {
        const std::uint64_t part = std::min(length, kPieceBytes);
        const auto bytes = read(fd, offset, part);
        if (!bytes) return std::nullopt;
        // If the first byte is zero and each other one equals the one before it, all are.
        if (bytes->front() != std::byte{} || std::memcmp(bytes->data(), bytes->data() + 1, bytes->size() - 1) != 0) {
            return false;
        }
        offset += part;
        length -= part;
    }
    return true;
}

}  // namespace udtx::transfer
