// Reads pieces of files and hashes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/page_block.hpp"
#include "transfer/checksum.hpp"

namespace udtx::transfer {

class PieceHasher {
  public:
    explicit PieceHasher(HashAlgorithm hash) : hasher_(hash) {}

    /// Of at most kPieceBytes. None where they cannot be read, or the file ends before: see error().
    [[nodiscard]] std::optional<Digest> hash(int fd, std::uint64_t offset, std::uint64_t length);
    /// Of any length; the same.
    [[nodiscard]] std::optional<bool> is_zero(int fd, std::uint64_t offset, std::uint64_t length);
    /// Of the latest call, 0 or: an errno; ENODATA: the file ends too early.
    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    [[nodiscard]] std::optional<std::span<const std::byte>> read(int fd, std::uint64_t offset, std::uint64_t length);

    Hasher hasher_;
    PageBlock block_;
    int error_ = 0;
};

}  // namespace udtx::transfer
