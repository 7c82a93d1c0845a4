// Out-of-order bytes of an ordered stream, up to a window that the owner enforces. They are read by copying, or as
// parts of the blocks that they lie in: what comes later is stored beside them, never over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "base/range_set.hpp"
#include "udtx/core/chunk.hpp"

namespace udtx::stream {

class Reassembler {
  public:
    /// Stores bytes; what was read or stored before is ignored. Returns the number of new bytes.
    std::uint64_t insert(std::uint64_t offset, std::span<const std::byte> data);
    /// Copies in-order bytes; returns how many.
    std::size_t read(std::span<std::byte> out);
    /// The next in-order bytes, as many as lie together; empty: there are none.
    Chunk take();

    [[nodiscard]] std::uint64_t read_offset() const noexcept { return read_; }
    [[nodiscard]] std::size_t readable() const noexcept;
    /// Separate pieces that are stored.
    [[nodiscard]] std::size_t pieces() const noexcept { return stored_.count(); }
    /// Memory held, a multiple of the block size; bounded by window + one block at either end.
    [[nodiscard]] std::size_t memory() const noexcept;

  private:
    std::byte* locate(std::uint64_t offset);
    /// Of in-order bytes, how many lie together.
    [[nodiscard]] std::size_t together() const noexcept;
    void pass(std::size_t bytes);

    std::deque<Chunk> blocks_;  // blocks_[0] holds offset first_block_ * kBlockBytes
    std::uint64_t first_block_ = 0;
    std::uint64_t read_ = 0;
    RangeSet stored_;
};

}  // namespace udtx::stream
