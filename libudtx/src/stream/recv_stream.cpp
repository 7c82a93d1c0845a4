#include "stream/recv_stream.hpp"

#include <algorithm>

namespace udtx::stream {

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
    if (!growth || reset_) return growth;
    if (stopped_) {
        consumed_ = highest_;
    } else if (kind_ == StreamKind::ordered) {
        received_total_ += buffer_.insert(offset, data);
    } else {
        placed_.for_each_gap(offset, end, [&](std::uint64_t b, std::uint64_t e) {
            place(b, data.subspan(static_cast<std::size_t>(b - offset), static_cast<std::size_t>(e - b)));
        });
        received_total_ += placed_.insert(offset, end);
    }
    if (std::max(placed_.count(), buffer_.pieces()) > kMaxPieces) {
        return Error{ErrorCode::protocol, "too many holes in a stream"};
    }
    return growth;
}

Result<std::uint64_t> RecvStream::on_reset(std::uint64_t final_size) {
    auto growth = admit(final_size, true);
    if (!growth) return growth;
    reset_ = true;
    drop();
    return growth;
}

void RecvStream::stop() noexcept {
    stopped_ = true;
    consumed_ = highest_;
    drop();
}

void RecvStream::drop() noexcept {
    buffer_ = {};
    placed_.clear();
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
    end_read_ = final_size_ && consumed_ == *final_size_;
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
    if (reset_ || stopped_ || kind_ != StreamKind::ordered) return false;
    return buffer_.readable() > 0 || (!end_read_ && final_size_ && buffer_.read_offset() == *final_size_);
}

bool RecvStream::complete() const noexcept { return final_size_ && received_total_ == *final_size_; }

bool RecvStream::done() const noexcept {
    if (reset_) return true;
    if (stopped_) return final_size_.has_value();
    return kind_ == StreamKind::ordered ? end_read_ : complete() && consumed_ == *final_size_;
}

}  // namespace udtx::stream
