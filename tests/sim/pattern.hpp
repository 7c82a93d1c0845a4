// Content for simulated transfers: a fixed pseudo-random block that repeats with a prime period, so that bytes at a
// wrong offset do not match by chance. Chunks are views of one block: sending ten gigabytes takes two megabytes of
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "udtx/core/chunk.hpp"

namespace udtx::sim::pattern {

inline constexpr std::uint64_t kPeriod = 1'048'573;  // the largest prime below 2^20
inline constexpr std::size_t kMaxChunk = 1U << 20U;

/// The content of [offset, offset + size); size <= kMaxChunk.
[[nodiscard]] Chunk chunk(std::uint64_t offset, std::size_t size);
[[nodiscard]] bool matches(std::uint64_t offset, std::span<const std::byte> bytes);

/// Simple model of "each byte exactly once".
class Ledger {
  public:
    /// Returns false if one of the bytes was added before.
    bool add(std::uint64_t offset, std::uint64_t size);
    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
    /// True if all bytes below `size` are present and no byte is above.
    [[nodiscard]] bool complete(std::uint64_t size) const noexcept;
    [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }

  private:
    std::map<std::uint64_t, std::uint64_t> pieces_;  // begin -> end, disjoint, not adjacent
    std::uint64_t total_ = 0;
};

}  // namespace udtx::sim::pattern
