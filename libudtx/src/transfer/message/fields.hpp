// Reads and writes messages of the control stream and records of files. A struct lists its fields once, in the order of
// their bytes, together with their bounds:
//
//   static constexpr std::uint8_t kType = 23;
//   static void fields(auto& io, auto& m) { io.varint_to(1000, m.disk, m.cpu); }
//
// `io` is a FieldReader, which refuses values beyond their bounds, or a FieldWriter, which leaves bounds to its caller.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

/// Messages and records of later releases have types from here on. A reader skips those that it does not know ...
inline constexpr std::uint8_t kExtensionTypes = 64;
/// ... but not from here on. Behind the type stands the release that knows it (base/release.hpp).
inline constexpr std::uint8_t kMandatoryTypes = 128;

/// Fields that consist of others.
template <class Io>
class CompositeFields {
  public:
    void hash(auto& algorithm) {
        io().byte(algorithm, HashAlgorithm{std::numeric_limits<std::uint8_t>::max()});
        io().require([&] { return hash_algorithm_from(static_cast<std::uint8_t>(algorithm)).has_value(); });
    }
    void time(auto& time) {
        io().u64(time.seconds);
        io().varint_to(kNanosecondsInSecond - 1, time.nanoseconds);
    }
    void times(auto& times) {
        time(times.modified);
        time(times.changed);
    }
    void range(auto& range) { io().varint(range.offset, range.length); }
    void piece(auto& piece) {
        range(piece);
        io().digest(piece.digest);
    }
    /// The components are not checked.
    void path(auto& components) {
        io().list(components, kMaxDepth, [this](auto& component) { io().name(component, kMaxComponentBytes); });
    }
    void names(auto& names) {
        io().list(names, kMaxListItems, [this](auto& name) { io().name(name, kMaxPathBytes); });
    }

  private:
    Io& io() noexcept { return static_cast<Io&>(*this); }
};

/// After a field that is missing or beyond its bounds, all later fields keep their values.
class FieldReader : public CompositeFields<FieldReader> {
  public:
    explicit FieldReader(std::span<const std::byte> body) : in_(body) {}

    /// True if all fields are valid. More fields may follow, of a later release.
    [[nodiscard]] bool complete() const noexcept { return state_ != State::failed; }

    /// A version below `oldest` has another layout. Its number alone is enough to refuse it.
    void version(std::uint64_t& version, std::uint64_t oldest) {
        varint(version);
        if (state_ == State::reading && version < oldest) state_ = State::other_layout;
    }
    template <class T>
    void byte(T& value, std::type_identity_t<T> last) {
        const auto raw = in_.u8();
        if (accept(raw && *raw <= static_cast<std::uint8_t>(last))) value = static_cast<T>(*raw);
    }
    void byte(std::uint8_t& value) { byte(value, std::numeric_limits<std::uint8_t>::max()); }
    template <class... T>
    void u64(T&... values) {
        (assign(in_.u64(), std::numeric_limits<std::uint64_t>::max(), values), ...);
    }
    template <class... T>
    void varint(T&... values) {
        varint_to(wire::kVarintMax, values...);
    }
    template <class... T>
    void varint_to(std::uint64_t most, T&... values) {
        (assign(in_.varint(), most, values), ...);
    }
    template <class... T>
    void capped(std::uint64_t most, T&... values) {
        varint_to(most, values...);
    }
    /// A bit for each value, the lowest first. For an optional value it says whether its fields follow.
    template <class... T>
    void flags(T&... values) {
        constexpr std::uint64_t kAll = (1U << sizeof...(T)) - 1;
        std::uint64_t bits = 0;
        if constexpr (sizeof...(T) > 8) {
            varint_to(kAll, bits);
        } else {
            byte(bits, kAll);
        }
        ((set(values, (bits & 1U) != 0), bits >>= 1U), ...);
    }
    void rate(Rate& rate, std::uint64_t most) {
        std::uint64_t bits_per_second = 0;
        varint_to(most, bits_per_second);
        rate = Rate::bits_per_second(static_cast<double>(bits_per_second));
    }
    void name(std::string& name, std::size_t most) {
        const auto raw = bytes(most);
        name.assign(reinterpret_cast<const char*>(raw.data()), raw.size());
    }
    void text(std::string& text, std::size_t most = kMaxTextBytes) { name(text, most); }
    void digest(Digest& digest) {
        const auto raw = bytes(Digest::kMaxBytes);
        if (accept(raw.empty() || raw.size() == 16 || raw.size() == 32)) digest = Digest(raw);
    }
    template <class T, class Item>
    void list(std::vector<T>& items, std::size_t most, Item item) {
        std::uint64_t count = 0;
        varint_to(most, count);
        for (std::uint64_t i = 0; i < count && state_ == State::reading; ++i) item(items.emplace_back());
    }
    template <std::predicate Condition>
    void require(Condition condition) {
        if (state_ == State::reading) accept(condition());
    }

  private:
    enum class State : std::uint8_t { reading, failed, other_layout };

    bool accept(bool valid) noexcept {
        if (!valid && state_ == State::reading) state_ = State::failed;
        return state_ == State::reading;
    }
    template <class T>
    void assign(std::optional<std::uint64_t> raw, std::uint64_t most, T& value) {
        if (accept(raw && *raw <= most)) value = static_cast<T>(*raw);
    }
    static void set(bool& value, bool on) { value = on; }
    template <class T>
    static void set(std::optional<T>& value, bool on) {
        if (on) value.emplace();
    }
    std::span<const std::byte> bytes(std::size_t most) {
        std::size_t count = 0;
        varint_to(most, count);
        const auto raw = in_.bytes(count);
        return accept(raw.has_value()) ? *raw : std::span<const std::byte>();
    }

    wire::Reader in_;
    State state_ = State::reading;
};

class FieldWriter : public CompositeFields<FieldWriter> {
  public:
    explicit FieldWriter(wire::Writer& out) : out_(out) {}

    /// False: there is no room, or a number does not fit into a varint.
    [[nodiscard]] bool ok() const noexcept { return ok_; }

    void version(std::uint64_t version, std::uint64_t /*oldest*/) { varint(version); }
    template <class T>
    void byte(T value, std::type_identity_t<T> /*last*/ = T{}) {
        check(out_.u8(static_cast<std::uint8_t>(value)));
    }
    template <class... T>
    void u64(T... values) {
        (check(out_.u64(static_cast<std::uint64_t>(values))), ...);
    }
    template <class... T>
    void varint(T... values) {
        (check(out_.varint(values)), ...);
    }
    template <class... T>
    void varint_to(std::uint64_t /*most*/, T... values) {
        varint(values...);
    }
    /// Writes the bound in place of a larger value.
    template <class... T>
    void capped(std::uint64_t most, T... values) {
        varint(std::min<std::uint64_t>(values, most)...);
    }
    template <class... T>
    void flags(const T&... values) {
        std::uint64_t bits = 0;
        unsigned at = 0;
        ((bits |= std::uint64_t{static_cast<bool>(values)} << at++), ...);
        if constexpr (sizeof...(T) > 8) {
            varint(bits);
        } else {
            byte(bits);
        }
    }
    /// Writes the bound in place of a larger rate.
    void rate(Rate rate, std::uint64_t most) {
        varint(static_cast<std::uint64_t>(std::clamp(rate.bps(), 0.0, static_cast<double>(most))));
    }
    void name(const std::string& name, std::size_t /*most*/) { bytes(std::as_bytes(std::span(name))); }
    /// Cuts the text at its bound.
    void text(const std::string& text, std::size_t most = kMaxTextBytes) {
        bytes(std::as_bytes(std::span(text.data(), std::min(text.size(), most))));
    }
    void digest(const Digest& digest) { bytes(digest.bytes()); }
    template <class T, class Item>
    void list(const std::vector<T>& items, std::size_t /*most*/, Item item) {
        varint(items.size());
        for (const T& each : items) item(each);
    }
    template <std::predicate Condition>
    void require(Condition /*condition*/) {}

  private:
    void check(bool written) noexcept { ok_ = ok_ && written; }
    void bytes(std::span<const std::byte> bytes) {
        varint(bytes.size());
        check(out_.bytes(bytes));
    }

    wire::Writer& out_;
    bool ok_ = true;
};

/// Writes the type and the fields. False: they do not fit into `out`.
template <class... Alternatives>
[[nodiscard]] bool write_fields(wire::Writer& out, const std::variant<Alternatives...>& value) {
    FieldWriter io(out);
    std::visit(
        [&]<class T>(const T& alternative) {
            io.byte(T::kType);
            T::fields(io, alternative);
        },
        value);
    return io.ok();
}

/// Reads the type and the fields. If no alternative has the type, `out` stays empty. Otherwise FieldReader::complete()
/// says whether the fields are valid.
template <class... Alternatives>
void read_fields(FieldReader& in, std::optional<std::variant<Alternatives...>>& out) {
    std::uint8_t type = 0;
    in.byte(type);
    const auto read_as = [&]<class T>(std::type_identity<T> /*tag*/) {
        if (type != T::kType) return false;
        T::fields(in, std::get<T>(out.emplace(std::in_place_type<T>)));
        return true;
    };
    static_cast<void>((read_as(std::type_identity<Alternatives>()) || ...));
}

}  // namespace udtx::transfer
