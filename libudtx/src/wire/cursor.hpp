// Bounds-checked reading and writing of network-order integers and QUIC varints (RFC 9000, section 16). The functions
// are inline, because they handle every field of every frame.
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
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

template <std::unsigned_integral T>
[[nodiscard]] inline T in_network_order(T v) noexcept {
    if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) return v;
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(v);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(v);
    if constexpr (sizeof(T) == 8) return __builtin_bswap64(v);
}
template <std::unsigned_integral T>
[[nodiscard]] inline T load_network(const std::byte* p) noexcept {
    T v = 0;
    std::memcpy(&v, p, sizeof v);
    return in_network_order(v);
}
template <std::unsigned_integral T>
inline void store_network(std::byte* p, T v) noexcept {
    v = in_network_order(v);
    std::memcpy(p, &v, sizeof v);
}

/// Reads a big-endian integer of `n` bytes (at most 8).
[[nodiscard]] inline std::uint64_t load_big_endian(const std::byte* p, std::size_t n) noexcept {
    if (n == 8) return load_network<std::uint64_t>(p);
    if (n == 4) return load_network<std::uint32_t>(p);
    if (n == 2) return load_network<std::uint16_t>(p);
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < n; ++i) v = (v << 8U) | std::to_integer<std::uint64_t>(p[i]);
    return v;
}
inline void store_big_endian(std::byte* p, std::uint64_t v, std::size_t n) noexcept {
    if (n == 8) return store_network(p, v);
    if (n == 4) return store_network(p, static_cast<std::uint32_t>(v));
    if (n == 2) return store_network(p, static_cast<std::uint16_t>(v));
    for (std::size_t i = n; i > 0; --i, v >>= 8U) p[i - 1] = static_cast<std::byte>(v & 0xffU);
}

/// A read past the end returns nullopt. All later reads then fail too.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> data) noexcept : data_(data) {}

    [[nodiscard]] std::size_t remaining() const noexcept { return data_.size() - at_; }
    [[nodiscard]] bool empty() const noexcept { return at_ == data_.size(); }
    [[nodiscard]] std::size_t position() const noexcept { return at_; }

    std::optional<std::uint8_t> u8() noexcept { return integer<std::uint8_t>(); }
    std::optional<std::uint32_t> u32() noexcept { return integer<std::uint32_t>(); }
    std::optional<std::uint64_t> u64() noexcept { return integer<std::uint64_t>(); }
    /// Accepts encodings that are longer than needed.
    std::optional<std::uint64_t> varint() noexcept {
        // Almost always eight bytes remain. Then all lengths are decoded at once, without a branch.
        if (remaining() >= sizeof(std::uint64_t) && !failed_) {
            const auto all = load_network<std::uint64_t>(data_.data() + at_);
            const std::size_t n = std::size_t{1} << (all >> 62U);
            at_ += n;
            return (all << 2U) >> (66 - 8 * n);
        }
        const auto head = peek();
        if (!head) return fail();
        const std::size_t n = std::size_t{1} << (*head >> 6U);
        if (!has(n)) return fail();
        const std::uint64_t v = load_big_endian(data_.data() + at_, n) & ((1ULL << (8 * n - 2)) - 1);
        at_ += n;
        return v;
    }
    std::optional<std::span<const std::byte>> bytes(std::size_t n) noexcept {
        if (!has(n)) return fail();
        const auto v = data_.subspan(at_, n);
        at_ += n;
        return v;
    }
    /// Returns the next byte without consuming it. At the end it returns nullopt, and the reader does not fail.
    [[nodiscard]] std::optional<std::uint8_t> peek() const noexcept {
        if (!has(1)) return std::nullopt;
        return std::to_integer<std::uint8_t>(data_[at_]);
    }

  private:
    [[nodiscard]] bool has(std::size_t n) const noexcept { return !failed_ && n <= remaining(); }
    std::nullopt_t fail() noexcept {
        failed_ = true;
        return std::nullopt;
    }
    template <class T>
    std::optional<T> integer() noexcept {
        if (!has(sizeof(T))) return fail();
        const auto v = static_cast<T>(load_big_endian(data_.data() + at_, sizeof(T)));
        at_ += sizeof(T);
        return v;
    }

    std::span<const std::byte> data_;
    std::size_t at_ = 0;
    bool failed_ = false;
};

/// A write that does not fit returns false and writes nothing.
class Writer {
  public:
    explicit Writer(std::span<std::byte> out) noexcept : out_(out) {}

    [[nodiscard]] std::size_t size() const noexcept { return at_; }
    [[nodiscard]] std::size_t room() const noexcept { return out_.size() - at_; }
    [[nodiscard]] std::span<std::byte> written() const noexcept { return out_.first(at_); }

    bool u8(std::uint8_t v) noexcept { return integer(v, 1); }
    bool u32(std::uint32_t v) noexcept { return integer(v, 4); }
    bool u64(std::uint64_t v) noexcept { return integer(v, 8); }
    /// Uses the shortest encoding. Returns false for values above kVarintMax.
    bool varint(std::uint64_t v) noexcept { return v <= kVarintMax && padded_varint(v, varint_bytes(v)); }
    /// Uses exactly `n` bytes (1, 2, 4 or 8). The value must fit into them.
    bool padded_varint(std::uint64_t v, std::size_t n) noexcept {
        assert(n >= varint_bytes(v));
        const std::uint64_t prefix = n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : 3;
        return integer(v | (prefix << (8 * n - 2)), n);
    }
    /// The low `n` bytes (at most 8).
    bool big_endian(std::uint64_t v, std::size_t n) noexcept { return integer(v, n); }
    bool bytes(std::span<const std::byte> v) noexcept {
        if (room() < v.size()) return false;
        if (!v.empty()) std::memcpy(out_.data() + at_, v.data(), v.size());
        at_ += v.size();
        return true;
    }
    bool zeros(std::size_t n) noexcept {
        if (room() < n) return false;
        if (n > 0) std::memset(out_.data() + at_, 0, n);
        at_ += n;
        return true;
    }
    /// Reserves n uninitialised bytes for the caller to fill. Returns an empty span if they do not fit (or n is 0).
    std::span<std::byte> reserve(std::size_t n) noexcept {
        if (room() < n) return {};
        const auto v = out_.subspan(at_, n);
        at_ += n;
        return v;
    }
    void rewind(std::size_t position) noexcept {
        assert(position <= at_);
        at_ = position;
    }

  private:
    bool integer(std::uint64_t v, std::size_t n) noexcept {
        if (room() < n) return false;
        store_big_endian(out_.data() + at_, v, n);
        at_ += n;
        return true;
    }

    std::span<std::byte> out_;
    std::size_t at_ = 0;
};

}  // namespace udtx::wire
