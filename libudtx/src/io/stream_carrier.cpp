#include "io/stream_carrier.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/release.hpp"
#include "wire/cursor.hpp"
#include "wire/header.hpp"

namespace udtx::io {
namespace {

constexpr std::size_t kLengthBytes = 2;
constexpr std::size_t kLeastDatagram = wire::kShortHeaderBytes + wire::kTagBytes;
/// Several of the largest datagrams, and what one read of a fast stream returns.
constexpr std::size_t kBufferBytes = 256U << 10U;
/// Until the peer sends more at once. Strangers may hold many streams.
constexpr std::size_t kFirstBufferBytes = 4096;
constexpr int kReads = 8;  // in one turn, so that the stream does not starve others

}  // namespace

StreamCarrier::StreamCarrier(std::unique_ptr<os::ByteStream> stream, const Address& local, const Address& remote,
                             std::span<const std::byte> received)
    : stream_(std::move(stream)), local_(local), remote_(remote), in_(std::max(kFirstBufferBytes, received.size())) {
    std::ranges::copy(received, in_.begin());
    in_end_ = received.size();
}

void StreamCarrier::end(std::string why) {
    if (!over_) over_ = std::move(why);
    ended_ = true;
}

void StreamCarrier::append(std::size_t size) {
    std::array<std::byte, kLengthBytes> length{};
    wire::store_big_endian(length.data(), size, kLengthBytes);
    out_.insert(out_.end(), length.begin(), length.end());
}

void StreamCarrier::send(std::span<const std::byte> batch, std::size_t segment) {
    if (over_) return;
    for (std::size_t at = 0; at < batch.size(); at += segment) {
        const auto datagram = batch.subspan(at, std::min(segment, batch.size() - at));
        assert(datagram.size() >= kLeastDatagram && datagram.size() <= kMaxDatagram);
        if constexpr (kFuture) {
            append(0);
            append(1);
            out_.push_back(std::byte{1});
        }
        append(datagram.size());
        out_.insert(out_.end(), datagram.begin(), datagram.end());
    }
}

void StreamCarrier::flush() {
    while (!over_ && queued() > 0) {
        auto moved = stream_->write(std::span<const std::byte>(out_).subspan(out_at_));
        if (moved.over) return end(std::move(*moved.over));
        if (moved.bytes == 0) break;
        out_at_ += moved.bytes;
    }
    if (queued() == 0) {
        out_.clear();
        out_at_ = 0;
    } else if (out_at_ >= kFull) {
        out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_at_));
        out_at_ = 0;
    }
}

bool StreamCarrier::receive(const Handler& handler) {
    if (!take(handler)) return true;
    for (int i = 0; i < kReads && !over_; ++i) {
        const bool filled = in_end_ == in_.size();
        if (in_at_ > 0) {
            std::memmove(in_.data(), in_.data() + in_at_, in_end_ - in_at_);
            in_end_ -= std::exchange(in_at_, 0);
        }
        if (filled && in_.size() < kBufferBytes) in_.resize(std::min(4 * in_.size(), kBufferBytes));
        auto moved = stream_->read(std::span(in_).subspan(in_end_));
        if (moved.over) {
            end(std::move(*moved.over));
            return false;
        }
        if (moved.bytes == 0) return false;
        in_end_ += moved.bytes;
        if (!take(handler)) return true;
    }
    return !over_;
}

bool StreamCarrier::take(const Handler& handler) {
    while (!over_) {
        const std::size_t held = in_end_ - in_at_;
        if (held < kLengthBytes) return true;
        const std::byte* const at = in_.data() + in_at_;
        std::size_t head = kLengthBytes;
        std::size_t size = wire::load_big_endian(at, kLengthBytes);
        const bool extension = size == 0;
        if (extension) {
            head += kLengthBytes;
            if (held < head) return true;
            size = wire::load_big_endian(at + kLengthBytes, kLengthBytes);
        }
        if (size > kMaxDatagram || (!extension && size < kLeastDatagram)) {
            end("the peer sent something else than datagrams");
            break;
        }
        if (held < head + size) return true;
        const auto body = std::span(in_).subspan(in_at_ + head, size);
        if (!extension && !handler(body)) return false;
        in_at_ += head + size;
    }
    return true;
}

}  // namespace udtx::io

namespace udtx {

Channel::Channel() = default;
Channel::~Channel() = default;

std::shared_ptr<Channel> Channel::make(UniqueFd in, UniqueFd out, std::string_view received, Carrier carrier) {
    std::shared_ptr<Channel> channel(new Channel());
    Address end;
    end.carrier = carrier;
    channel->carrier_ = std::make_shared<io::StreamCarrier>(os::stream_of(std::move(in), std::move(out)), end, end,
                                                            std::as_bytes(std::span(received)));
    return channel;
}

bool Channel::ended() const noexcept { return carrier_->ended(); }

}  // namespace udtx
