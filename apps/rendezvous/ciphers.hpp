// What the rendezvous takes from OpenSSL besides TLS and curves: hashes, keys from secrets, and sealed messages. Also
// bytes that are overwritten when they are no longer needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

/// Overwrites the bytes. The compiler does not remove this call.
void wipe(std::span<std::byte> bytes) noexcept;

/// Secret bytes, which the destructor overwrites.
template <std::size_t kSize>
class SecretBytes {
  public:
    SecretBytes() = default;
    explicit SecretBytes(std::span<const std::byte, kSize> bytes) {
        for (std::size_t i = 0; i < kSize; ++i) bytes_[i] = bytes[i];
    }
    SecretBytes(const SecretBytes&) = default;
    SecretBytes& operator=(const SecretBytes&) = default;
    ~SecretBytes() { wipe(bytes_); }

    [[nodiscard]] std::span<std::byte, kSize> bytes() noexcept { return bytes_; }
    [[nodiscard]] std::span<const std::byte, kSize> bytes() const noexcept { return bytes_; }

  private:
    std::array<std::byte, kSize> bytes_{};
};

/// An output of SHA-256, or a key of that size.
using Secret32 = SecretBytes<32>;
using Digest = std::array<std::byte, 32>;

[[nodiscard]] inline std::span<const std::byte> as_bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// SHA-256 (FIPS 180-4). This and the next functions throw std::bad_alloc if OpenSSL lacks memory or the algorithm.
[[nodiscard]] Secret32 sha256(std::span<const std::byte> data);
/// HMAC with SHA-256 (RFC 2104).
[[nodiscard]] Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data);
/// HKDF with SHA-256 and without a salt (RFC 5869). Fills `out`.
void hkdf_sha256(std::span<const std::byte> secret, std::span<const std::byte> info, std::span<std::byte> out);
/// scrypt (RFC 7914) with 16 MiB of memory. Fills `out`.
void scrypt(std::string_view password, std::string_view salt, std::span<std::byte> out);
/// True if both are equal. The time does not depend on where they differ.
[[nodiscard]] bool equal_secrets(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

/// One direction of sealed messages: AES-256-GCM (RFC 5116, section 5.2) with the number of the message as its nonce.
/// So a message that was changed, repeated, left out or moved does not open.
class Sealer {
  public:
    static constexpr std::size_t kTagBytes = 16;

    /// `label`: names the direction, so that both directions have different keys.
    Sealer(const Secret32& key, std::string_view label);
    ~Sealer();
    Sealer(Sealer&&) noexcept;
    Sealer& operator=(Sealer&&) noexcept;

    /// Returns the sealed message, which is kTagBytes longer.
    [[nodiscard]] std::vector<std::byte> seal(std::span<const std::byte> message);
    /// nullopt: it is not the next message of this direction. Its number does not advance then.
    [[nodiscard]] std::optional<std::vector<std::byte>> open(std::span<const std::byte> sealed);

  private:
    struct Context;
    /// The nonce of message `next_`.
    [[nodiscard]] std::array<std::byte, 12> nonce() const noexcept;

    std::unique_ptr<Context> context_;
    std::uint64_t next_ = 0;
};

}  // namespace udtx::apps
