// Reference-counted blocks of bytes, from which a connection sends, and which it gives to whoever reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "udtx/export.hpp"

namespace udtx {

/// Shares a block of bytes with its copies; the last one frees the block, or gives it back to its pool. Chunks may move
/// between threads. The bytes must not change once they are shared.
class Chunk {
  public:
    Chunk() = default;  ///< No bytes.
    /// Shares `size` bytes of `memory`.
    Chunk(std::shared_ptr<std::byte[]> memory, std::size_t size)
        : memory_(std::move(memory)), size_(size), allocated_(size) {}
    /// A block of its own with these bytes.
    [[nodiscard]] UDTX_EXPORT static Chunk copy_of(std::span<const std::byte> bytes);

    /// Bytes of content.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes of memory.
    [[nodiscard]] std::size_t allocated() const noexcept { return allocated_; }
    /// There is no content.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The content.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory_.get(), size_}; }
    /// The content, to be filled before it is shared.
    [[nodiscard]] std::span<std::byte> writable() noexcept { return {memory_.get(), size_}; }
    /// Shares `size` bytes of it from `offset` on, or as many as there are.
    [[nodiscard]] UDTX_EXPORT Chunk part(std::size_t offset, std::size_t size) const;
    /// Lengthens the content by that of `next`, if it follows in the same memory. False: it does not.
    UDTX_EXPORT bool append(const Chunk& next) noexcept;
    /// Shortens the content to `size` bytes. The memory stays allocated.
    void truncate(std::size_t size) noexcept { size_ = size < size_ ? size : size_; }

  private:
    std::shared_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    std::size_t allocated_ = 0;
};

/// Recycles blocks of one size that are aligned to pages, to save page faults. Thread-safe. Chunks may outlive the
/// pool.
class UDTX_EXPORT ChunkPool {
  public:
    /// Keeps at most `max_idle` unused blocks of `block_bytes`.
    ChunkPool(std::size_t block_bytes, std::size_t max_idle);
    /// An unused block, or a new one. Its content is undefined.
    [[nodiscard]] Chunk take();
    /// Bytes of the unused blocks.
    [[nodiscard]] std::uint64_t idle_bytes() const;
    /// Frees the unused blocks, and from now on each block as soon as it is unused.
    void keep_none() noexcept;
    /// Bytes of a block.
    [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }

  private:
    struct Shelf;
    std::size_t block_bytes_;
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace udtx
