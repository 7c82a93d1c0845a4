// Digest of a file. It covers the size and, for each piece in order, the offset, the length and the digest. It thereby
// covers the holes: they are the gaps between the pieces.
#pragma once

#include <cstdint>

#include "transfer/checksum.hpp"

namespace udtx::transfer {

class FileDigest {
  public:
    FileDigest(HashAlgorithm algorithm, std::uint64_t size) : hasher_(algorithm) { hasher_.update_u64(size); }
    void add(std::uint64_t offset, std::uint64_t length, const Digest& piece) {
        hasher_.update_u64(offset);
        hasher_.update_u64(length);
        hasher_.update(piece.bytes());
    }
    [[nodiscard]] Digest finish() { return hasher_.finish(); }

  private:
    Hasher hasher_;
};

/// Root digest of a transfer. It covers the index and the digest of every completely delivered file, in order.
class RootDigest {
  public:
    explicit RootDigest(HashAlgorithm algorithm) : hasher_(algorithm) {}
    void add(std::uint64_t index, const Digest& file) {
        hasher_.update_u64(index);
        hasher_.update(file.bytes());
    }
    [[nodiscard]] Digest finish() { return hasher_.finish(); }

  private:
    Hasher hasher_;
};

}  // namespace udtx::transfer
