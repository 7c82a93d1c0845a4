// Verifies one received file. It compares each piece's digest with the sender's, in whichever order the two arrive, and
// computes the digest of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "transfer/file_digest.hpp"

namespace udtx::transfer {

class FileVerifier {
  public:
    FileVerifier(HashAlgorithm algorithm, std::uint64_t size) : digest_(algorithm, size) {}

    /// A piece that was received and hashed.
    void computed(std::uint64_t ordinal, std::uint64_t offset, std::uint64_t length, const Digest& digest);
    /// The sender's digest of the piece.
    void expected(std::uint64_t ordinal, const Digest& digest);
    /// True if a piece differs; it stays true.
    [[nodiscard]] bool mismatch() const noexcept { return mismatch_; }
    /// Number of pieces verified without a gap from the first.
    [[nodiscard]] std::uint64_t verified() const noexcept { return next_; }
    /// Number of pieces that lack one of the two digests, or an earlier piece.
    [[nodiscard]] std::size_t waiting() const noexcept { return slots_.size(); }
    /// Call it once, when all pieces are verified.
    [[nodiscard]] Digest finish() { return digest_.finish(); }

  private:
    struct Slot {
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
        std::optional<Digest> computed;
        std::optional<Digest> expected;
    };
    void advance();

    FileDigest digest_;
    std::map<std::uint64_t, Slot> slots_;
    std::uint64_t next_ = 0;
    bool mismatch_ = false;
};

}  // namespace udtx::transfer
