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

    /// Digest of at most kPieceBytes. nullopt: they cannot be read, or the file ends earlier: see error().
    [[nodiscard]] std::optional<Digest> hash(int fd, std::uint64_t offset, std::uint64_t length);
    /// Adds at most kPieceBytes to the hash of a longer sequence. False: as nullopt of hash().
    [[nodiscard]] bool add_to(Hasher& sequence, int fd, std::uint64_t offset, std::uint64_t length);
    /// True if all bytes of a range of any length are zero; nullopt as for hash().
    [[nodiscard]] std::optional<bool> is_zero(int fd, std::uint64_t offset, std::uint64_t length);
    /// Result of the latest call: 0, an errno, or ENODATA if the file ends too early.
    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    [[nodiscard]] std::optional<std::span<const std::byte>> read(int fd, std::uint64_t offset, std::uint64_t length);

    Hasher hasher_;
    PageBlock block_;
    int error_ = 0;
};

}  // namespace udtx::transfer
