// Memory of streams: recycled blocks that are filled with bytes from front to back.
#pragma once

#include <cstddef>
#include <span>

#include "udtx/core/chunk.hpp"

namespace udtx::stream {

inline constexpr std::size_t kBlockBytes = 64U << 10U;

/// The pool that all streams of the process share. Thread-safe.
[[nodiscard]] ChunkPool& blocks();

/// Copies bytes into blocks, one piece behind the other, so that small pieces share a block.
class BlockFiller {
  public:
    /// Copies as many of `bytes` as the block has room for, at least one.
    [[nodiscard]] Chunk copy(std::span<const std::byte> bytes);

  private:
    Chunk block_;
    std::size_t used_ = 0;
};

}  // namespace udtx::stream
