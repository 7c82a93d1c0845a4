// Bounds-checked reading and writing of network-order integers and QUIC varints (RFC 9000, section 16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace udtx::wire {

inline constexpr std::uint64_t kVarintMax = (1ULL << 62U) - 1;

[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t v) noexcept {
    return v < 64 ? 1 : v < 16384 ? 2 : v < (1ULL << 30U) ? 4 : 8;
}

/// Every read returns nullopt past the end and then stays failed.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> data) noexcept : data_(data) {}

    [[nodiscard]] std::size_t remaining() const noexcept { return data_.size() - at_; }
    [[nodiscard]] bool empty() const noexcept { return at_ == data_.size(); }
    [[nodiscard]] std::size_t position() const noexcept { return at_; }

    std::optional<std::uint8_t> u8() noexcept;
    std::optional<std::uint32_t> u32() noexcept;
    std::optional<std::uint64_t> u64() noexcept;
    std::optional<std::uint64_t> varint() noexcept;
    std::optional<std::span<const std::byte>> bytes(std::size_t n) noexcept;
    [[nodiscard]] std::optional<std::uint8_t> peek() const noexcept;

  private:
    std::span<const std::byte> data_;
    std::size_t at_ = 0;
};

/// Every write returns false, with nothing written, when it does not fit.
class Writer {
  public:
    explicit Writer(std::span<std::byte> out) noexcept : out_(out) {}

    [[nodiscard]] std::size_t size() const noexcept { return at_; }
    [[nodiscard]] std::size_t room() const noexcept { return out_.size() - at_; }
    [[nodiscard]] std::span<std::byte> written() const noexcept { return out_.first(at_); }

    bool u8(std::uint8_t v) noexcept;
    bool u32(std::uint32_t v) noexcept;
    bool u64(std::uint64_t v) noexcept;
    bool varint(std::uint64_t v) noexcept;
    bool bytes(std::span<const std::byte> v) noexcept;
    bool zeros(std::size_t n) noexcept;
    /// n uninitialised bytes for the caller to fill; empty when they do not fit (or n is 0).
    std::span<std::byte> reserve(std::size_t n) noexcept;
    void rewind(std::size_t position) noexcept { at_ = position; }

  private:
    std::span<std::byte> out_;
    std::size_t at_ = 0;
};

}  // namespace udtx::wire
