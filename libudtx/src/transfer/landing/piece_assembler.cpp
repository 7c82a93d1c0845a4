#include "transfer/landing/piece_assembler.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace udtx::transfer {

namespace {

constexpr std::size_t kIdleBuffers = 48;
// Smaller pieces get memory of their own size: a window full of them must not take a whole block each.
constexpr std::uint64_t kPooledFrom = kPieceBytes / 2;

/// Bits [begin, end) of one word, end <= 64.
std::uint64_t mask(std::size_t begin, std::size_t end) {
    const std::uint64_t below_end = end == 64 ? ~0ULL : (1ULL << end) - 1;
    return below_end & ~((1ULL << begin) - 1);
}

/// First position at or after `at`, below `limit`, whose bit equals `value`; else `limit`.
template <std::size_t N>
std::size_t find_bit(const std::array<std::uint64_t, N>& words, std::size_t at, std::size_t limit, bool value) {
    while (at < limit) {
        const std::uint64_t word = (value ? words[at / 64] : ~words[at / 64]) & mask(at % 64, 64);
        if (word != 0) return std::min(limit, at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(word)));
        at = (at / 64 + 1) * 64;
    }
    return limit;
}

}  // namespace

void EarlyData::hold(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::uint64_t base = offset / kBlock * kBlock;
        const auto from = static_cast<std::size_t>(offset - base);
        const std::size_t n = std::min(bytes.size(), kBlock - from);
        auto& block = blocks_[base];
        if (!block) block = std::make_unique<Block>();
        std::memcpy(block->bytes.data() + from, bytes.data(), n);
        for (std::size_t at = from; at < from + n;) {
            const std::size_t stop = std::min(from + n, (at / 64 + 1) * 64);
            block->present[at / 64] |= mask(at % 64, stop - at / 64 * 64);
            at = stop;
        }
        offset += n;
        bytes = bytes.subspan(n);
    }
}

EarlyData::Run EarlyData::next_run(const Block& block, std::size_t at, std::size_t limit) {
    const std::size_t begin = find_bit(block.present, at, limit, true);
    return {begin, find_bit(block.present, begin, limit, false)};
}

bool EarlyData::clear_below(Block& block, std::size_t limit) {
    for (std::size_t at = 0; at < limit;) {
        const std::size_t stop = std::min(limit, (at / 64 + 1) * 64);
        block.present[at / 64] &= ~mask(at % 64, stop - at / 64 * 64);
        at = stop;
    }
    return std::all_of(block.present.begin(), block.present.end(), [](std::uint64_t word) { return word == 0; });
}

PieceAssembler::PieceAssembler() : pool_(kPieceBytes, kIdleBuffers) {}

bool PieceAssembler::announce(const Extent& extent) {
    if (!map_.append(extent)) return false;
    early_.release_below(map_.end(),
                         [this](std::uint64_t offset, std::span<const std::byte> bytes) { on_bytes(offset, bytes); });
    return true;
}

void PieceAssembler::on_bytes(std::uint64_t stream_offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (stream_offset >= map_.end()) return early_.hold(stream_offset, bytes);
        Slot* slot = slot_at(stream_offset);
        if (slot == nullptr) return;
        const std::uint64_t to_end = slot->piece.stream_offset + slot->piece.length - stream_offset;
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(to_end, bytes.size()));
        place(*slot, stream_offset, bytes.first(n));
        stream_offset += n;
        bytes = bytes.subspan(n);
    }
}

PieceAssembler::Slot* PieceAssembler::slot_at(std::uint64_t stream_offset) {
    if (latest_ != nullptr && stream_offset >= latest_->piece.stream_offset &&
        stream_offset - latest_->piece.stream_offset < latest_->piece.length) {
        return latest_;
    }
    const auto piece = map_.find(stream_offset);
    if (!piece) return nullptr;
    auto at = slots_.find(piece->stream_offset);
    if (at == slots_.end()) {
        // Allocates first: if that fails, no piece without memory stays in slots_.
        Slot fresh{*piece, buffer_for(piece->length), 0};
        at = slots_.emplace(piece->stream_offset, std::move(fresh)).first;
        slot_bytes_ += piece->length;
    }
    latest_ = &at->second;
    return latest_;
}

void PieceAssembler::place(Slot& slot, std::uint64_t stream_offset, std::span<const std::byte> bytes) {
    const auto at = static_cast<std::size_t>(stream_offset - slot.piece.stream_offset);
    std::memcpy(slot.data.writable().data() + at, bytes.data(), bytes.size());
    slot.received += bytes.size();
    if (slot.received < slot.piece.length) return;
    const Piece piece = slot.piece;
    whole_.push_back({piece, std::move(slot.data)});
    slots_.erase(piece.stream_offset);
    slot_bytes_ -= piece.length;
    latest_ = nullptr;
    map_.complete(piece);
}

Chunk PieceAssembler::buffer_for(std::uint64_t length) {
    if (length >= kPooledFrom) {
        Chunk chunk = pool_.take();
        chunk.truncate(static_cast<std::size_t>(length));
        return chunk;
    }
    const auto size = static_cast<std::size_t>(length);
    return {std::shared_ptr<std::byte[]>(new std::byte[size]), size};
}

}  // namespace udtx::transfer
