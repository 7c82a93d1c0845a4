#include "rendezvous/messages.hpp"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>

namespace udtx::apps {
namespace {

constexpr std::size_t kLengthBytes = 2;
constexpr std::size_t kHeadBytes = 3;  // type and release
/// Unknown types that are skipped.
constexpr bool is_optional(std::uint8_t type) { return type >= 64 && type < 128; }
constexpr std::uint16_t kFirstRelease = 2;  // 0.2
/// The longest message but DATA. Later releases may append fields.
constexpr std::size_t kMaxOtherBytes = 4096;

Error not_a_message(const std::string& why) {
    return {ErrorCode::protocol, "the bytes are not a message of the rendezvous: " + why};
}

/// Reads fields. After one that is missing or beyond its bounds, all later ones keep their values.
class MessageFieldReader {
  public:
    explicit MessageFieldReader(std::span<const std::byte> in) : in_(in) {}
    [[nodiscard]] bool good() const noexcept { return good_; }

    void u8(std::uint8_t& to) { number(to); }
    void u16(std::uint16_t& to) { number(to); }
    void u32(std::uint32_t& to) { number(to); }
    void token(Token& to) { fixed(to); }
    void code(CloseReasonCode& to) {
        std::uint8_t raw = 0;
        number(raw);
        if (good_) to = static_cast<CloseReasonCode>(raw);
    }
    void bytes(std::vector<std::byte>& to, std::size_t most) {
        const auto taken = counted(most);
        if (good_) to.assign(taken.begin(), taken.end());
    }
    void text(std::string& to, std::size_t most) {
        const auto taken = counted(most);
        if (good_) to.assign(reinterpret_cast<const char*>(taken.data()), taken.size());
    }
    void address(Address& to) {
        std::uint8_t version = 0;
        number(version);
        if (version != 4 && version != 6) good_ = false;
        Address read{};
        read.family = version == 4 ? Address::Family::v4 : Address::Family::v6;
        const auto ip = take(version == 4 ? 4 : 16);
        std::ranges::transform(ip, read.ip.begin(), [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
        number(read.port);
        if (good_) to = read;
    }

  private:
    std::span<const std::byte> take(std::size_t count) {
        good_ = good_ && in_.size() >= count;
        if (!good_) return {};
        const auto taken = in_.first(count);
        in_ = in_.subspan(count);
        return taken;
    }
    template <class Number>
    void number(Number& to) {
        const auto taken = take(sizeof(Number));
        if (!good_) return;
        Number read = 0;
        for (const std::byte b : taken) read = static_cast<Number>(read << 8U | std::to_integer<Number>(b));
        to = read;
    }
    template <class Array>
    void fixed(Array& to) {
        const auto taken = take(to.size());
        if (good_) std::ranges::copy(taken, to.begin());
    }
    std::span<const std::byte> counted(std::size_t most) {
        std::uint16_t count = 0;
        number(count);
        good_ = good_ && count <= most;
        return take(count);
    }

    std::span<const std::byte> in_;
    bool good_ = true;
};

class MessageFieldWriter {
  public:
    std::vector<std::byte> out{};

    void u8(std::uint8_t value) { number(value); }
    void u16(std::uint16_t value) { number(value); }
    void u32(std::uint32_t value) { number(value); }
    void token(const Token& value) { append(value); }
    void code(CloseReasonCode value) { number(static_cast<std::uint8_t>(value)); }
    void bytes(std::span<const std::byte> value, [[maybe_unused]] std::size_t most) {
        assert(value.size() <= most);
        number(static_cast<std::uint16_t>(value.size()));
        append(value);
    }
    void text(const std::string& value, std::size_t most) {
        bytes(std::as_bytes(std::span(value)).first(std::min(value.size(), most)), most);
    }
    void address(const Address& value) {
        const bool v4 = value.family == Address::Family::v4;
        u8(v4 ? 4 : 6);
        append(std::as_bytes(std::span(value.ip)).first(v4 ? 4 : 16));
        number(value.port);
    }

  private:
    void append(std::span<const std::byte> more) { out.insert(out.end(), more.begin(), more.end()); }
    template <class Number>
    void number(Number value) {
        for (std::size_t i = sizeof(Number); i-- > 0;) out.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
};

std::uint16_t u16_at(std::span<const std::byte> bytes, std::size_t at) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8U |
                                      std::to_integer<unsigned>(bytes[at + 1]));
}

/// Parses the fields as those of the type at `kIndex` of the variant, or of a later one. nullopt: no type has this
/// number.
template <std::size_t kIndex = 0>
std::optional<Result<Message>> parse_fields(std::uint8_t type, std::span<const std::byte> fields) {
    if constexpr (kIndex == std::variant_size_v<Message>) {
        return std::nullopt;
    } else {
        using Type = std::variant_alternative_t<kIndex, Message>;
        if (type != Type::kType) return parse_fields<kIndex + 1>(type, fields);
        Type message;
        MessageFieldReader in(fields);
        Type::fields(in, message);
        if (!in.good()) return not_a_message("a field of " + std::string(name_of(message)) + " is missing or too long");
        return Result<Message>(Message(std::move(message)));
    }
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
    MessageFieldWriter out;
#ifdef UDTX_FUTURE  // see tests/compat
    out.u16(kHeadBytes + 1);
    out.u8(100);
    out.u16(kFirstRelease + 1);
    out.u8(1);
#endif
    const std::size_t begin = out.out.size();
    out.u16(0);
    std::visit(
        [&](const auto& m) {
            out.u8(m.kType);
            out.u16(kFirstRelease);
            m.fields(out, m);
        },
        message);
#ifdef UDTX_FUTURE
    out.u8(1);
#endif
    const std::size_t length = out.out.size() - begin - kLengthBytes;
    out.out[begin] = static_cast<std::byte>(length >> 8U);
    out.out[begin + 1] = static_cast<std::byte>(length);
    return std::move(out.out);
}

std::string_view name_of(const Message& message) noexcept {
    static constexpr std::array<std::string_view, std::variant_size_v<Message>> kNames{
        "CLAIM", "CLAIMED", "JOIN", "JOINED", "LEFT", "DISMISS", "SETTLED", "PEER", "DATA", "CLOSE"};
    return kNames[message.index()];
}

void MessageReader::feed(std::span<const std::byte> bytes) {
    if (failed_) return;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Message>> MessageReader::next() {
    if (failed_) return not_a_message("an earlier message was wrong");
    while (pending() >= kLengthBytes + kHeadBytes) {
        const auto rest = std::span<const std::byte>(buffer_).subspan(at_);
        const std::size_t length = u16_at(rest, 0);
        const auto type = std::to_integer<std::uint8_t>(rest[kLengthBytes]);
        failed_ = length < kHeadBytes || (type != Data::kType && length > kMaxOtherBytes);
        if (failed_) return not_a_message("a length is impossible");
        if (rest.size() < kLengthBytes + length) return std::optional<Message>();
        at_ += kLengthBytes + length;
        const auto fields = rest.subspan(kLengthBytes + kHeadBytes, length - kHeadBytes);
        if (auto parsed = parse_fields(type, fields)) {
            failed_ = !*parsed;
            if (failed_) return parsed->error();
            return std::optional<Message>(std::move(**parsed));
        }
        if (is_optional(type)) continue;
        failed_ = true;
        const unsigned release = u16_at(rest, kLengthBytes + 1);
        return Error{ErrorCode::protocol, "the other side uses a later version of the rendezvous: install udtx " +
                                              std::to_string(release / 1000) + "." + std::to_string(release % 1000) +
                                              " or later here"};
    }
    return std::optional<Message>();
}

std::array<std::byte, Bind::kBytes> encode(const Bind& bind) {
    MessageFieldWriter out;
    out.u8(Bind::kFirstByte);
    out.token(bind.token);
    std::array<std::byte, Bind::kBytes> padded{};
    std::ranges::copy(out.out, padded.begin());
    return padded;
}

std::vector<std::byte> encode(const BindAnswer& answer) {
    MessageFieldWriter out;
    out.u8(BindAnswer::kFirstByte);
    out.token(answer.token);
    out.address(answer.observed);
    assert(out.out.size() < Bind::kBytes);
    return std::move(out.out);
}

std::optional<Bind> parse_bind(std::span<const std::byte> datagram) {
    if (datagram.size() < Bind::kBytes) return std::nullopt;
    std::uint8_t first = 0;
    Bind bind;
    MessageFieldReader in(datagram);
    in.u8(first);
    in.token(bind.token);
    return in.good() && first == Bind::kFirstByte ? std::optional(bind) : std::nullopt;
}

std::optional<BindAnswer> parse_bind_answer(std::span<const std::byte> datagram) {
    std::uint8_t first = 0;
    BindAnswer answer;
    MessageFieldReader in(datagram);
    in.u8(first);
    in.token(answer.token);
    in.address(answer.observed);
    return in.good() && first == BindAnswer::kFirstByte ? std::optional(answer) : std::nullopt;
}

}  // namespace udtx::apps
