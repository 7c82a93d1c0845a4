#include "stream/reassembler.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace udtx::stream {

std::byte* Reassembler::locate(std::uint64_t offset) {
    const std::uint64_t index = offset / kBlock - first_block_;
    while (blocks_.size() <= index) blocks_.emplace_back();
    auto& block = blocks_[static_cast<std::size_t>(index)];
    if (!block) block = spare_ ? std::move(spare_) : std::unique_ptr<Block>(new Block);
    return block->data() + offset % kBlock;
}

std::uint64_t Reassembler::insert(std::uint64_t offset, std::span<const std::byte> data) {
    const std::uint64_t end = offset + data.size();
    const std::uint64_t begin = std::max(offset, read_);
    if (begin >= end) return 0;
    stored_.for_each_gap(begin, end, [&](std::uint64_t b, std::uint64_t e) {
        while (b < e) {
            const auto n = static_cast<std::size_t>(std::min(e - b, kBlock - b % kBlock));
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

std::size_t Reassembler::read(std::span<std::byte> out) {
    const std::size_t total = std::min(readable(), out.size());
    std::size_t done = 0;
    while (done < total) {
        const auto n = std::min<std::size_t>(total - done, kBlock - static_cast<std::size_t>(read_ % kBlock));
        std::memcpy(out.data() + done, locate(read_), n);
        done += n;
        read_ += n;
        if (read_ % kBlock == 0) {
            spare_ = std::move(blocks_.front());
            blocks_.pop_front();
            ++first_block_;
        }
    }
    if (done > 0) stored_.erase(read_ - done, read_);
    return done;
}

std::size_t Reassembler::memory() const noexcept {
    const auto held = std::count_if(blocks_.begin(), blocks_.end(), [](const auto& b) { return b != nullptr; });
    return static_cast<std::size_t>(held) * kBlock;
}

}  // namespace udtx::stream
