#include "stream/recv_stream.hpp"

#include <algorithm>
#include <cstring>

namespace udtx::stream {

namespace {

constexpr std::size_t kIdleBlocks = 128;

}  // namespace

ChunkPool& blocks() {
    // The pool is never destroyed, because protocol threads may still run while static objects are destroyed.
    static ChunkPool* const pool = new ChunkPool(kBlockBytes, kIdleBlocks);
    return *pool;
}

Chunk BlockFiller::copy(std::span<const std::byte> bytes) {
    if (used_ == block_.size()) {
        block_ = blocks().take();
        used_ = 0;
    }
    Chunk part = block_.part(used_, bytes.size());
    std::memcpy(part.writable().data(), bytes.data(), part.size());
    used_ += part.size();
    return part;
}

std::byte* Reassembler::locate(std::uint64_t offset) {
    const std::uint64_t index = offset / kBlockBytes - first_block_;
    while (blocks_.size() <= index) blocks_.emplace_back();
    auto& block = blocks_[static_cast<std::size_t>(index)];
    if (block.empty()) block = blocks().take();
    return block.writable().data() + offset % kBlockBytes;
}

std::uint64_t Reassembler::insert(std::uint64_t offset, std::span<const std::byte> data) {
    const std::uint64_t end = offset + data.size();
    const std::uint64_t begin = std::max(offset, read_);
    if (begin >= end) return 0;
    stored_.for_each_gap(begin, end, [&](std::uint64_t b, std::uint64_t e) {
        while (b < e) {
            const auto n = static_cast<std::size_t>(std::min(e - b, kBlockBytes - b % kBlockBytes));
            std::memcpy(locate(b), data.data() + (b - offset), n);
            b += n;
        }
    });
    return stored_.insert(begin, end);
}

std::size_t Reassembler::readable() const noexcept {
    if (stored_.empty() || stored_.front().begin != read_) return 0;
    return static_cast<std::size_t>(stored_.front().size());
}

std::size_t Reassembler::together() const noexcept {
    return std::min(readable(), kBlockBytes - static_cast<std::size_t>(read_ % kBlockBytes));
}

void Reassembler::pass(std::size_t bytes) {
    stored_.erase(read_, read_ + bytes);
    read_ += bytes;
    if (read_ % kBlockBytes != 0) return;
    blocks_.pop_front();
    ++first_block_;
}

std::size_t Reassembler::read(std::span<std::byte> out) {
    std::size_t done = 0;
    while (const std::size_t n = std::min(together(), out.size() - done)) {
        std::memcpy(out.data() + done, locate(read_), n);
        pass(n);
        done += n;
    }
    return done;
}

Chunk Reassembler::take() {
    const std::size_t n = together();
    if (n == 0) return {};
    Chunk taken = blocks_.front().part(static_cast<std::size_t>(read_ % kBlockBytes), n);
    pass(n);
    return taken;
}

std::size_t Reassembler::memory() const noexcept {
    const auto held = std::count_if(blocks_.begin(), blocks_.end(), [](const Chunk& block) { return !block.empty(); });
    return static_cast<std::size_t>(held) * kBlockBytes;
}

Result<std::uint64_t> RecvStream::admit(std::uint64_t end, bool fin) {
    if (end > limit_) return Error{ErrorCode::protocol, "peer sent beyond the stream's flow-control limit"};
    if (final_size_ && (end > *final_size_ || (fin && end != *final_size_))) {
        return Error{ErrorCode::protocol, "peer contradicted the stream's final size"};
    }
    if (fin) {
        if (end < highest_) return Error{ErrorCode::protocol, "final size below bytes already received"};
        final_size_ = end;
    }
    const std::uint64_t growth = end > highest_ ? end - highest_ : 0;
    highest_ += growth;
    return growth;
}

Result<std::uint64_t> RecvStream::on_data(std::uint64_t offset, std::span<const std::byte> data, bool fin,
                                          const Place& place) {
    const std::uint64_t end = offset + data.size();
    auto growth = admit(end, fin);
    if (!growth || was_reset()) return growth;
    if (stopped()) {
        consumed_ = highest_;
    } else if (kind_ == StreamKind::ordered) {
        received_total_ += buffer_.insert(offset, data);
    } else {
        received_.for_each_gap(offset, end, [&](std::uint64_t b, std::uint64_t e) {
            place(b, data.subspan(static_cast<std::size_t>(b - offset), static_cast<std::size_t>(e - b)));
        });
        received_total_ += received_.insert(offset, end);
    }
    if (std::max(received_.count(), buffer_.pieces()) > kMaxPieces) {
        return Error{ErrorCode::protocol, "too many holes in a stream"};
    }
    advance();
    return growth;
}

void RecvStream::advance() noexcept {
    if (!final_size_) return;
    if (state_ == RecvState::recv) state_.enter(RecvState::size_known);
    if (state_ == RecvState::stopped) state_.enter(RecvState::dropped);
    if (state_ == RecvState::size_known && received_total_ == *final_size_) state_.enter(RecvState::data_recvd);
    const bool released = kind_ == StreamKind::unordered && consumed_ == *final_size_;
    if (state_ == RecvState::data_recvd && released) state_.enter(RecvState::data_read);
}

Result<std::uint64_t> RecvStream::on_reset(std::uint64_t final_size) {
    auto growth = admit(final_size, true);
    if (!growth || was_reset()) return growth;
    state_.enter(RecvState::reset_recvd);
    drop();
    return growth;
}

void RecvStream::release(std::uint64_t bytes) noexcept {
    if (!wanted()) return;
    consumed_ += bytes;
    advance();
}

void RecvStream::stop() noexcept {
    if (over() || stopped()) return;
    state_.enter(state_ == RecvState::recv ? RecvState::stopped : RecvState::dropped);
    consumed_ = highest_;
    drop();
}

void RecvStream::drop() noexcept {
    buffer_ = {};
    received_.clear();
}

std::size_t RecvStream::read(std::span<std::byte> out) {
    const std::size_t n = buffer_.read(out);
    pass(n);
    return n;
}

Chunk RecvStream::take() {
    Chunk taken = buffer_.take();
    pass(taken.size());
    return taken;
}

void RecvStream::pass(std::size_t bytes) noexcept {
    consumed_ += bytes;
    if (state_ == RecvState::data_recvd && consumed_ == *final_size_) state_.enter(RecvState::data_read);
}

bool RecvStream::limit_due() const noexcept {
    if (final_size_ && limit_ >= *final_size_) return false;
    return consumed_ + window_.size() >= limit_ + credit_step(window_.size());
}

std::uint64_t RecvStream::advertise() noexcept {
    limit_ = std::max(limit_, consumed_ + window_.size());
    return limit_;
}

bool RecvStream::readable() const noexcept {
    // In data_recvd at least the end waits.
    return kind_ == StreamKind::ordered &&
           (state_ == RecvState::data_recvd || (state_ < RecvState::data_recvd && buffer_.readable() > 0));
}

}  // namespace udtx::stream
