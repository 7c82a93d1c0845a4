// Out-of-order bytes of an ordered stream, up to a window that the owner enforces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "base/range_set.hpp"

namespace udtx::stream {

class Reassembler {
  public:
    /// Stores bytes; what was read or stored before is ignored. Returns the number of new bytes.
    std::uint64_t insert(std::uint64_t offset, std::span<const std::byte> data);
    /// Copies in-order bytes; returns how many.
    std::size_t read(std::span<std::byte> out);

    [[nodiscard]] std::uint64_t read_offset() const noexcept { return read_; }
    [[nodiscard]] std::size_t readable() const noexcept;
    /// Separate pieces that are stored.
    [[nodiscard]] std::size_t pieces() const noexcept { return stored_.count(); }
    /// Memory held, a multiple of the block size; bounded by window + one block at either end.
    [[nodiscard]] std::size_t memory() const noexcept;

  private:
    static constexpr std::size_t kBlock = 64U << 10U;
    using Block = std::array<std::byte, kBlock>;

    std::byte* locate(std::uint64_t offset);

    std::deque<std::unique_ptr<Block>> blocks_;  // blocks_[0] holds offset first_block_ * kBlock
    std::unique_ptr<Block> spare_;
    std::uint64_t first_block_ = 0;
    std::uint64_t read_ = 0;
    RangeSet stored_;
};

}  // namespace udtx::stream
