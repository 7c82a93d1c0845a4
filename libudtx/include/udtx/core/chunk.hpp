// Reference-counted blocks of bytes. A connection sends from them, and gives received data to the reader in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "udtx/export.hpp"

namespace udtx {

/// Shares a block of bytes with its copies. The last copy frees the block, or returns it to its pool. Chunks may move
/// between threads. The bytes must not change once they are shared.
class Chunk {
  public:
    Chunk() = default;  ///< Has no bytes.
    /// Shares the first `size` bytes of `memory`.
    Chunk(std::shared_ptr<std::byte[]> memory, std::size_t size)
        : memory_(std::move(memory)), size_(size), allocated_(size) {}
    /// Makes a chunk with a copy of these bytes.
    [[nodiscard]] UDTX_EXPORT static Chunk copy_of(std::span<const std::byte> bytes);

    /// Size of the content, bytes.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Size of the allocated memory, bytes.
    [[nodiscard]] std::size_t allocated() const noexcept { return allocated_; }
    /// True if there is no content.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The content.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory_.get(), size_}; }
    /// The content for writing, before the chunk is shared.
    [[nodiscard]] std::span<std::byte> writable() noexcept { return {memory_.get(), size_}; }
    /// Shares `size` bytes of the content from `offset` on, or as many as exist.
    [[nodiscard]] UDTX_EXPORT Chunk part(std::size_t offset, std::size_t size) const;
    /// Extends the content by that of `next` if `next` follows directly in the same memory. Returns false otherwise.
    UDTX_EXPORT bool append(const Chunk& next) noexcept;
    /// Shortens the content to `size` bytes. The memory stays allocated.
    void truncate(std::size_t size) noexcept { size_ = size < size_ ? size : size_; }

  private:
    std::shared_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    std::size_t allocated_ = 0;
};

/// Recycles page-aligned blocks of one size, to avoid page faults. Thread-safe. Chunks may outlive the pool.
class UDTX_EXPORT ChunkPool {
  public:
    /// Makes a pool that keeps at most `max_idle` unused blocks of `block_bytes`.
    ChunkPool(std::size_t block_bytes, std::size_t max_idle);
    /// Returns an unused or a new block. Its content is undefined.
    [[nodiscard]] Chunk take();
    /// Size of all unused blocks, bytes.
    [[nodiscard]] std::uint64_t idle_bytes() const;
    /// Frees the unused blocks. From then on each block is freed as soon as it is unused.
    void keep_none() noexcept;
    /// Size of a block, bytes.
    [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }

  private:
    struct Shelf;
    std::size_t block_bytes_;
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace udtx
