#include "transfer/message/message_codec.hpp"

#include <array>
#include <cassert>
#include <utility>

#include "base/release.hpp"
#include "transfer/message/fields.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {
namespace {

/// True for a message of a later release that this one may skip.
bool may_skip(std::uint8_t type) noexcept { return type >= kExtensionTypes && type < kMandatoryTypes; }

}  // namespace

Result<Message> parse_message(std::span<const std::byte> body) {
    FieldReader in(body);
    std::optional<Message> message;
    read_fields(in, message);
    if (!message && !body.empty() && std::to_integer<std::uint8_t>(body[0]) >= kMandatoryTypes) {
        std::uint64_t release = 0;
        in.varint(release);
        if (in.complete()) return needs_release("a message", release);
    }
    if (!message) return Error{ErrorCode::malformed, "unknown control message"};
    if (!in.complete()) return Error{ErrorCode::malformed, "malformed control message"};
    return std::move(*message);
}

void MessageReader::feed(std::span<const std::byte> bytes) {
    if (at_ > 0) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
        at_ = 0;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Message>> MessageReader::next() {
    for (;;) {
        wire::Reader in(std::span<const std::byte>(buffer_).subspan(at_));
        const auto length = in.varint();
        if (!length) return std::optional<Message>();
        if (*length == 0 || *length > kMaxMessageBytes) return Error{ErrorCode::malformed, "control message too large"};
        const auto body = in.bytes(static_cast<std::size_t>(*length));
        if (!body) return std::optional<Message>();
        const auto type = std::to_integer<std::uint8_t>((*body)[0]);
        const bool skipped = may_skip(type);
        auto parsed = skipped ? Result<Message>(Message()) : parse_message(*body);
        if (!parsed) return parsed.error();
        at_ += in.position();
        if (!skipped) return std::optional<Message>(std::move(parsed).value());
    }
}

std::optional<std::uint8_t> MessageReader::next_type() {
    for (;;) {
        wire::Reader in(std::span<const std::byte>(buffer_).subspan(at_));
        const auto length = in.varint();
        const auto type = length ? in.u8() : std::nullopt;
        if (!type || !may_skip(*type) || *length == 0 || *length > kMaxMessageBytes) return type;
        if (!in.bytes(static_cast<std::size_t>(*length) - 1)) return std::nullopt;
        at_ += in.position();
    }
}

MessageWriter::MessageWriter() : scratch_(kMaxMessageBytes) {}

void MessageWriter::put(const Message& message) {
    wire::Writer body(scratch_);
    [[maybe_unused]] const bool fits = write_fields(body, message);
    assert(fits && "a message beyond its bounds");
    if constexpr (kFuture) {
        (void)body.varint(kFutureField);
        constexpr std::array kUnknown{std::byte{kFutureMessage}, std::byte{1}};
        append(kUnknown);
    }
    append(body.written());
}

void MessageWriter::append(std::span<const std::byte> body) {
    std::array<std::byte, 8> prefix{};
    wire::Writer length(prefix);
    length.varint(body.size());
    const auto head = length.written();
    out_.insert(out_.end(), head.begin(), head.end());
    out_.insert(out_.end(), body.begin(), body.end());
}

std::vector<message::Rules> rule_messages(const FilterRules& rules, bool contents) {
    // Most bytes of patterns in one message.
    constexpr std::size_t kMaxRuleBlock = 32U << 10U;
    message::Rules next{contents, {}};
    std::vector<message::Rules> out;
    std::size_t bytes = 0;
    for (const FilterRule& rule : rules.list()) {
        bytes += rule.pattern.size() + 4;
        if (bytes > kMaxRuleBlock) {
            out.push_back(std::exchange(next, {contents, {}}));
            bytes = rule.pattern.size() + 4;
        }
        next.rules.push_back(rule);
    }
    out.push_back(std::move(next));
    return out;
}

}  // namespace udtx::transfer
