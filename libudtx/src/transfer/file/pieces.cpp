#include "transfer/file/pieces.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "transfer/file/file_io.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

bool PieceMap::append(const Extent& extent) {
    assert(extent.length > 0);
    if (extent.length > wire::kVarintMax - end_ || extent.length > wire::kVarintMax - extent.offset) return false;
    runs_.push_back({.stream_begin = end_,
                     .file = file_,
                     .extent = extent,
                     .first_ordinal = next_ordinal_,
                     .missing = extent.length});
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

void FileVerifier::computed(std::uint64_t ordinal, const ProvenPiece& piece) {
    slots_[ordinal].computed = piece;
    advance();
}

void FileVerifier::expected(std::uint64_t ordinal, const Digest& digest) {
    if (ordinal < next_) return;
    slots_[ordinal].expected = digest;
    advance();
}

void FileVerifier::advance() {
    while (!slots_.empty() && slots_.begin()->first == next_) {
        const Slot& slot = slots_.begin()->second;
        if (!slot.computed || !slot.expected) return;
        const auto& [offset, length, digest] = *slot.computed;
        if (digest != *slot.expected) mismatch_ = true;
        digest_.add(offset, length, digest);
        slots_.erase(slots_.begin());
        ++next_;
    }
}

}  // namespace udtx::transfer
