// Holds out-of-order bytes of an ordered stream, up to a window that the owner enforces. The owner copies them out, or
// takes them as parts of their blocks. Later bytes never overwrite earlier ones, so these parts stay valid.
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
    /// Stores bytes and returns the number of new ones. Ignores bytes that were read or stored before.
    std::uint64_t insert(std::uint64_t offset, std::span<const std::byte> data);
    /// Copies the next in-order bytes and returns their number.
    std::size_t read(std::span<std::byte> out);
    /// Takes the next in-order bytes that are contiguous in memory. Empty: there are none.
    Chunk take();

    [[nodiscard]] std::uint64_t read_offset() const noexcept { return read_; }
    [[nodiscard]] std::size_t readable() const noexcept;
    /// Number of separate pieces that are stored.
    [[nodiscard]] std::size_t pieces() const noexcept { return stored_.count(); }
    /// Bytes of memory held, a multiple of the block size; at most the window plus one block at either end.
    [[nodiscard]] std::size_t memory() const noexcept;

  private:
    std::byte* locate(std::uint64_t offset);
    /// Number of the next in-order bytes that are contiguous in memory.
    [[nodiscard]] std::size_t together() const noexcept;
    void pass(std::size_t bytes);

    std::deque<Chunk> blocks_;  // blocks_[0] holds offset first_block_ * kBlockBytes
    std::uint64_t first_block_ = 0;
    std::uint64_t read_ = 0;
    RangeSet stored_;
};

}  // namespace udtx::stream
