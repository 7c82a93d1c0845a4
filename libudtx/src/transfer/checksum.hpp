// Content hashes of pieces and files. They detect faults of memory and disk. The AEAD of the packets protects against
// an attacker, so the default is the fast non-cryptographic XXH3, and SHA-256 is an option.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// Bytes of a digest: 16 or 32.
[[nodiscard]] std::size_t digest_bytes(HashAlgorithm algorithm) noexcept;
/// nullopt: an unknown number.
[[nodiscard]] std::optional<HashAlgorithm> hash_algorithm_from(std::uint64_t number) noexcept;

/// The first eight bytes of XXH3-128, computed without the state of a Hasher.
[[nodiscard]] std::uint64_t short_hash(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

class Digest {
  public:
    static constexpr std::size_t kMaxBytes = 32;

    Digest() = default;
    /// `bytes`: at most kMaxBytes.
    explicit Digest(std::span<const std::byte> bytes) noexcept;
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }
    [[nodiscard]] std::string hex() const;
    friend bool operator==(const Digest&, const Digest&) noexcept = default;

  private:
    std::array<std::byte, kMaxBytes> bytes_{};
    std::uint8_t size_ = 0;
};

/// Order of calls: update() any number of times, then finish() once. reset() starts again.
class Hasher {
  public:
    explicit Hasher(HashAlgorithm algorithm);
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;

    void update(std::span<const std::byte> bytes);
    void update_u64(std::uint64_t value);  ///< as eight bytes, most significant first
    [[nodiscard]] Digest finish();
    void reset();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Digest of a file. It covers the size and, for each piece in order, the offset, the length and the digest. It thereby
// covers the holes: they are the gaps between the pieces.

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
