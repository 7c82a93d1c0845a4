#include "stream/blocks.hpp"

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

}  // namespace udtx::stream
