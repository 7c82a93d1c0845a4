// Reference-counted block of bytes. The disk threads fill chunks, the protocol thread sends from them; the last
// owner gives the memory back to its pool. A Chunk may be moved between threads; its bytes do not change once shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "udtx/export.hpp"

namespace udtx {

class Chunk {
  public:
    Chunk() = default;
    Chunk(std::shared_ptr<std::byte[]> memory, std::size_t size)
        : memory_(std::move(memory)), size_(size), allocated_(size) {}
    /// Own copy of `bytes`.
    [[nodiscard]] UDTX_EXPORT static Chunk copy_of(std::span<const std::byte> bytes);

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes of memory that it holds.
    [[nodiscard]] std::size_t allocated() const noexcept { return allocated_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory_.get(), size_}; }
    [[nodiscard]] std::span<std::byte> writable() noexcept { return {memory_.get(), size_}; }
    /// Shortens; what lies behind stays allocated until the chunk goes.
    void truncate(std::size_t size) noexcept { size_ = size < size_ ? size : size_; }

  private:
    std::shared_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
    std::size_t allocated_ = 0;
};

/// Recycles blocks of one size that begin pages, so that a transfer does not fault in fresh pages for every megabyte.
/// Thread-safe; chunks may outlive the pool.
class UDTX_EXPORT ChunkPool {
  public:
    /// Keeps at most `max_idle` unused blocks.
    ChunkPool(std::size_t block_bytes, std::size_t max_idle);
    [[nodiscard]] Chunk take();
    /// Memory of the unused blocks.
    [[nodiscard]] std::uint64_t idle_bytes() const;
    /// Gives back the unused blocks, and from now on each as soon as it is unused.
    void keep_none() noexcept;
    [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }

  private:
    struct Shelf;
    std::size_t block_bytes_;
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace udtx
