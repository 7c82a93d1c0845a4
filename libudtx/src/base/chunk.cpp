#include "base/chunk.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "base/thread_safety.hpp"
#include "udtx/core/chunk.hpp"

namespace udtx {
namespace {

constexpr std::align_val_t kPage{4096};

}  // namespace

void FreePageBlock::operator()(std::byte* block) const noexcept { ::operator delete[](block, kPage); }

PageBlock make_page_block(std::size_t bytes) {
    return PageBlock(static_cast<std::byte*>(::operator new[](bytes, kPage)));
}

Chunk Chunk::copy_of(std::span<const std::byte> bytes) {
    if (bytes.empty()) return {};
    std::shared_ptr<std::byte[]> memory(new std::byte[bytes.size()]);
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    return {std::move(memory), bytes.size()};
}

Chunk Chunk::part(std::size_t offset, std::size_t size) const {
    const std::size_t from = std::min(offset, size_);
    return {std::shared_ptr<std::byte[]>(memory_, memory_.get() + from), std::min(size, size_ - from)};
}

bool Chunk::append(const Chunk& next) noexcept {
    const bool same = !memory_.owner_before(next.memory_) && !next.memory_.owner_before(memory_);
    if (!same || memory_.get() + size_ != next.memory_.get()) return false;
    size_ += next.size_;
    allocated_ += next.allocated_;
    return true;
}

// The pool's idle blocks. Each block's deleter holds a reference, so the shelf lives until the pool and all its chunks
// are gone.
struct ChunkPool::Shelf {
    explicit Shelf(std::size_t max) : max_idle(max) { idle.reserve(max); }

    PageBlock take() {
        const Lock lock(mutex);
        if (idle.empty()) return nullptr;
        auto block = std::move(idle.back());
        idle.pop_back();
        return block;
    }
    // This needs no memory: the constructor reserved the room.
    void put(PageBlock block) noexcept {
        const Lock lock(mutex);
        if (idle.size() < max_idle) idle.push_back(std::move(block));
    }

    void keep_none() noexcept {
        std::vector<PageBlock> dropped;
        const Lock lock(mutex);
        max_idle = 0;
        idle.swap(dropped);
    }
    [[nodiscard]] std::size_t count() const {
        const Lock lock(mutex);
        return idle.size();
    }

    mutable Mutex mutex;
    std::vector<PageBlock> idle GUARDED_BY(mutex);
    std::size_t max_idle GUARDED_BY(mutex);
};

ChunkPool::ChunkPool(std::size_t block_bytes, std::size_t max_idle)
    : block_bytes_(block_bytes), shelf_(std::make_shared<Shelf>(max_idle)) {}

std::uint64_t ChunkPool::idle_bytes() const { return shelf_->count() * block_bytes_; }

void ChunkPool::keep_none() noexcept { shelf_->keep_none(); }

Chunk ChunkPool::take() {
    auto block = shelf_->take();
    if (block == nullptr) block = make_page_block(block_bytes_);
    auto give_back = [shelf = shelf_](std::byte* p) { shelf->put(PageBlock(p)); };
    // If shared_ptr cannot allocate its control block, it calls the deleter, so the block returns to the shelf.
    return {std::shared_ptr<std::byte[]>(block.release(), std::move(give_back)), block_bytes_};
}

}  // namespace udtx
