#include "stream/reassembler.hpp"

#include <algorithm>
#include <cstring>

#include "stream/blocks.hpp"

namespace udtx::stream {

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

}  // namespace udtx::stream
