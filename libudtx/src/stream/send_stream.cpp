#include "stream/send_stream.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace udtx::stream {

namespace {

// The next bytes are usually in the cache of another processor, which read them. The prefetch moves them while this
// packet is sealed.
void fetch_early(std::span<const std::byte> bytes) {
    constexpr std::size_t kLines = 128;  // bytes: cache lines are fetched in pairs
    for (std::size_t at = 0; at < bytes.size(); at += kLines) __builtin_prefetch(bytes.data() + at);
}

}  // namespace

void SendStream::write(Chunk chunk) {
    assert(state_ == SendState::ready);
    if (chunk.empty()) return;
    const std::uint64_t size = chunk.size();
    chunk_bytes_ += chunk.allocated();
    blocks_.push_back({.offset = written_, .size = size, .unacked = size, .chunk = std::move(chunk)});
    written_ += size;
}

void SendStream::finish() {
    if (state_ == SendState::ready) state_.enter(SendState::finished);
}

void SendStream::reset() {
    if (over() || is_reset()) return;
    state_.enter(SendState::reset_sent);
    blocks_.clear();
    chunk_bytes_ = 0;
    lost_.clear();
}

void SendStream::on_reset_acked() {
    if (state_ == SendState::reset_sent) state_.enter(SendState::reset_recvd);
}

void SendStream::raise_limit(std::uint64_t limit) { limit_ = std::max(limit_, limit); }

Range SendStream::unsent(std::uint64_t from, std::uint64_t new_credit) const {
    return ahead_.first_gap(std::max(from, sent_), std::min({written_, limit_, highest() + new_credit}));
}

std::optional<SendStream::Piece> SendStream::next(std::size_t room, std::uint64_t new_credit,
                                                  std::uint64_t from) const {
    if (!pending(new_credit)) return std::nullopt;
    if (!lost_.empty()) {
        const Range r = lost_.front();
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(r.size(), room));
        const bool fin = state_ == SendState::finished && r.begin + length == written_;
        return length == 0 ? std::nullopt
                           : std::optional(Piece{.offset = r.begin, .length = length, .fin = fin, .again = true});
    }
    const Range r = unsent(from, new_credit);
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(r.size(), room));
    const bool fin = state_ == SendState::finished && r.begin + length == written_;
    if (length == 0 && !(fin && sent_ == written_)) return std::nullopt;
    const std::uint64_t end = r.begin + length;
    return Piece{.offset = r.begin, .length = length, .fin = fin, .growth = end > highest() ? end - highest() : 0};
}

std::size_t SendStream::block_at(std::uint64_t offset) const {
    // Writers cut a file into blocks of one size. So the block is first looked up at the index that this size gives.
    assert(!blocks_.empty() && blocks_.front().offset <= offset);
    const auto guess = static_cast<std::size_t>((offset - blocks_.front().offset) / blocks_.front().size);
    if (guess < blocks_.size()) {
        const Block& block = blocks_[guess];
        if (offset - block.offset < block.size) return guess;
    }
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                                        [](std::uint64_t o, const Block& b) { return o < b.offset; });
    assert(after != blocks_.begin());
    return static_cast<std::size_t>(after - blocks_.begin()) - 1;
}

void SendStream::copy(std::uint64_t offset, std::span<std::byte> out) const {
    if (out.empty()) return;
    for (std::size_t i = block_at(offset); !out.empty(); ++i) {
        const Block& block = blocks_[i];
        const auto bytes = block.chunk.bytes().subspan(static_cast<std::size_t>(offset - block.offset));
        const std::size_t n = std::min(bytes.size(), out.size());
        std::memcpy(out.data(), bytes.data(), n);
        out = out.subspan(n);
        offset += n;
        if (out.empty()) fetch_early(bytes.subspan(n, std::min(n, bytes.size() - n)));
    }
}

void SendStream::on_sent(const Piece& piece) {
    assert(state_ != SendState::none && !is_reset());
    if (piece.again) {
        lost_.erase(piece.offset, piece.offset + piece.length);
    } else if (ahead_.empty() && piece.offset == sent_) {
        sent_ += piece.length;
    } else {
        ahead_.insert(piece.offset, piece.offset + piece.length);
        if (!ahead_.empty() && ahead_.front().begin <= sent_) {
            sent_ = std::max(sent_, ahead_.front().end);
            ahead_.erase(0, sent_);
        }
    }
    if (piece.fin) state_.enter(SendState::data_sent);
}

bool SendStream::on_acked(std::uint64_t offset, std::uint64_t length, bool fin) {
    if (is_reset()) return false;
    if (length > 0) {
        const std::uint64_t end = offset + length;
        acked_.for_each_gap(offset, end, [this](std::uint64_t b, std::uint64_t e) { release(b, e); });
        acked_.insert(offset, end);
        if (!lost_.empty()) lost_.erase(offset, end);
    }
    // The end may be acknowledged after its packet was declared lost.
    if (fin && (state_ == SendState::data_sent || state_ == SendState::finished)) state_.enter(SendState::end_acked);
    if (state_ != SendState::end_acked || acked_.total() != written_) return false;
    state_.enter(SendState::data_recvd);
    return true;
}

void SendStream::on_lost(std::uint64_t offset, std::uint64_t length, bool fin) {
    if (is_reset()) return;
    if (fin && state_ == SendState::data_sent) state_.enter(SendState::finished);
    acked_.for_each_gap(offset, offset + length, [this](std::uint64_t b, std::uint64_t e) { lost_.insert(b, e); });
}

void SendStream::release(std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = block_at(begin); begin < end; ++i) {
        Block& block = blocks_[i];
        const std::uint64_t n = std::min(end, block.offset + block.size) - begin;
        block.unacked -= n;
        begin += n;
        if (block.unacked > 0) continue;
        chunk_bytes_ -= block.chunk.allocated();
        block.chunk = Chunk();
    }
    while (!blocks_.empty() && blocks_.front().unacked == 0) blocks_.pop_front();
}

}  // namespace udtx::stream
