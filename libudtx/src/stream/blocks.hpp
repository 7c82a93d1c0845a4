// Memory of streams: blocks that are used again, in which bytes lie one behind the other.
#pragma once

#include <cstddef>
#include <span>

#include "udtx/core/chunk.hpp"

namespace udtx::stream {

inline constexpr std::size_t kBlockBytes = 64U << 10U;

/// Of all streams of the process. Thread-safe.
[[nodiscard]] ChunkPool& blocks();

/// Copies bytes into blocks, each behind the one before, so that small ones do not keep a block each.
class BlockFiller {
  public:
    /// As many of `bytes` as the block has room for, at least one.
    [[nodiscard]] Chunk copy(std::span<const std::byte> bytes);

  private:
    Chunk block_;
    std::size_t used_ = 0;
};

}  // namespace udtx::stream
