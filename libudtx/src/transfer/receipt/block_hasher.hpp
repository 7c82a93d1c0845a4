// Reads a file and hashes it piece by piece, as a transfer of it would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/page_block.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/pieces/piece_map.hpp"

namespace udtx::transfer {

class BlockHasher {
  public:
    /// All of [0, size) as data, holes included.
    BlockHasher(HashAlgorithm hash, int fd, std::uint64_t size) : fd_(fd), size_(size), hasher_(hash) {}

    /// Nothing at the end of the file, and where it cannot be read or is shorter than it should be: see error().
    [[nodiscard]] std::optional<ProvenPiece> next();
    /// The piece at any place; `length` at most kPieceBytes.
    [[nodiscard]] std::optional<Digest> hash(std::uint64_t offset, std::uint64_t length);
    /// Whether [offset, offset + length) is zeros; no value where it cannot be read.
    [[nodiscard]] std::optional<bool> is_zero(std::uint64_t offset, std::uint64_t length);
    /// 0 or an errno; ENODATA: the file ends too early.
    [[nodiscard]] int error() const noexcept { return error_; }

  private:
    [[nodiscard]] std::optional<std::span<const std::byte>> read(std::uint64_t offset, std::uint64_t length);

    int fd_;
    std::uint64_t size_;
    std::uint64_t at_ = 0;
    int error_ = 0;
    Hasher hasher_;
    PageBlock block_ = make_page_block(kPieceBytes);
};

}  // namespace udtx::transfer
