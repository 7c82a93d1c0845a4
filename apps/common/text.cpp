#include "common/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace udtx::apps {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) noexcept { return static_cast<std::uint8_t>(text[i]); }

std::uint32_t decode(std::string_view sequence) noexcept {
    static constexpr std::array<std::uint32_t, 5> kLeadBits{0, 0x7F, 0x1F, 0x0F, 0x07};
    std::uint32_t code = byte_at(sequence, 0) & kLeadBits[sequence.size()];
    for (std::size_t i = 1; i < sequence.size(); ++i) code = (code << 6U) | (byte_at(sequence, i) & 0x3FU);
    return code;
}

/// True for C0, DEL, C1, line and paragraph separators, and characters that change the reading direction.
bool must_be_escaped(std::uint32_t code) noexcept {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

void append_escape(std::string& out, std::uint32_t code) {
    std::array<char, 16> buffer{};
    switch (code) {
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            std::snprintf(buffer.data(), buffer.size(), code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
    }
    out += buffer.data();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) noexcept {
    if (text.empty()) return 0;
    const std::uint8_t lead = byte_at(text, 0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
    // The second byte alone identifies overlong forms, surrogates and numbers beyond U+10FFFF (RFC 3629, section 4).
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte_at(text, 1) < low || byte_at(text, 1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte_at(text, i) & 0xC0U) != 0x80U) return 0;
    }
    return length;
}

namespace {

std::string escape(std::string_view text, bool backslashes) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_sequence(text);
        if (length == 0) {
            std::array<char, 8> buffer{};
            std::snprintf(buffer.data(), buffer.size(), "\\x%02x", byte_at(text, 0));
            out += buffer.data();
            text.remove_prefix(1);
            continue;
        }
        const std::uint32_t code = decode(text.substr(0, length));
        if (code == '\\' && backslashes) {
            out += "\\\\";
        } else if (must_be_escaped(code)) {
            append_escape(out, code);
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace

std::string escape_for_terminal(std::string_view text) { return escape(text, true); }

std::string escape_message(std::string_view text) { return escape(text, false); }

std::size_t count_columns(std::string_view text) noexcept {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0U) != 0x80U; }));
}

std::string shorten(std::string_view text, std::size_t columns) {
    const std::size_t total = count_columns(text);
    if (total <= columns) return std::string(text);
    const auto offset_of = [&](std::size_t column) {
        std::size_t i = 0;
        for (std::size_t seen = 0; i < text.size(); ++i) {
            const bool starts = (byte_at(text, i) & 0xC0U) != 0x80U;
            if (starts && seen++ == column) break;
        }
        return i;
    };
    if (columns <= 5) return std::string(text.substr(0, offset_of(columns)));
    const std::size_t head = (columns - 3) / 2;
    const std::size_t tail = columns - 3 - head;
    return std::string(text.substr(0, offset_of(head))) + "..." + std::string(text.substr(offset_of(total - tail)));
}

std::string fit_parts(std::vector<LinePart> parts, std::size_t columns) {
    const auto join = [&parts] {
        std::string out;
        for (const LinePart& part : parts) {
            if (!out.empty()) out += "  ";
            out += part.text;
        }
        return out;
    };
    std::string out = join();
    while (count_columns(out) > columns && parts.size() > 1) {
        parts.erase(std::min_element(parts.begin(), parts.end(),
                                     [](const LinePart& a, const LinePart& b) { return a.keep < b.keep; }));
        out = join();
    }
    return shorten(out, columns);
}

std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known) {
    const std::string* best = nullptr;
    std::size_t best_distance = std::max<std::size_t>(2, typed.size() / 3) + 1;
    for (const std::string& candidate : known) {
        // An unfinished flag ("--auth" for "--authorized-keys") counts as near, although its edit distance is large.
        const bool prefix = typed.size() >= 4 && candidate.starts_with(typed);
        const std::size_t distance = prefix ? 1 : edit_distance(typed, candidate);
        if (distance < best_distance) {
            best = &candidate;
            best_distance = distance;
        }
    }
    if (best == nullptr) return std::nullopt;
    return *best;
}

std::string quoted_for_shell(const std::string& word) {
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string wrapped(std::string_view text, std::size_t columns) {
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (column > 0) {
            const bool fits = column + 1 + word.size() <= columns || word.starts_with('-');
            out += fits ? ' ' : '\n';
            column = fits ? column + 1 : 0;
        }
        out += word;
        column += word.size();
    }
    return out;
}

Json::Json(double value) {
    // to_chars, because printf's decimal point depends on the locale.
    std::array<char, 400> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::fixed, std::abs(value) >= 1e6 ? 0 : 6);
    text_ = std::isfinite(value) && error == std::errc() ? std::string(buffer.data(), end) : "null";
}

Json::Json(std::string_view value) : text_(1, '"') {
    while (!value.empty()) {
        const std::size_t length = utf8_sequence(value);
        const auto lead = static_cast<unsigned char>(value.front());
        if (length == 0) {
            text_ += "\xEF\xBF\xBD";
        } else if (lead == '"' || lead == '\\') {
            text_ += '\\';
            text_ += value.front();
        } else if (lead < 0x20 || lead == 0x7F) {
            std::array<char, 8> buffer{};
            std::snprintf(buffer.data(), buffer.size(), "\\u%04x", lead);
            text_ += buffer.data();
        } else {
            text_ += value.substr(0, length);
        }
        value.remove_prefix(length == 0 ? 1 : length);
    }
    text_ += '"';
}

Json Json::ready(std::string text) {
    Json value(nullptr);
    value.text_ = std::move(text);
    return value;
}

Json& Json::add(std::initializer_list<Member> members) {
    text_.pop_back();
    for (const Member& one : members) {
        text_.append(text_.size() > 1 ? "," : "").append(Json(one.name).text_).append(":").append(one.value.text_);
    }
    text_ += '}';
    return *this;
}

Json& Json::add_bytes(std::string_view name, std::string_view bytes) {
    add({{name, bytes}});
    return is_utf8(bytes) ? *this : add({{std::string(name) + "_hex", to_hex(bytes)}});
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t length = utf8_sequence(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string to_hex(std::string_view bytes) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto b = static_cast<unsigned char>(c);
        out += kDigits[b >> 4U];
        out += kDigits[b & 0x0FU];
    }
    return out;
}

std::string to_hex(std::span<const std::byte> bytes) {
    return to_hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::optional<std::uint8_t> hex_byte(std::string_view text) noexcept {
    return text.size() < 2 ? std::nullopt : parse_number<std::uint8_t>(text.substr(0, 2), 16);
}

std::string_view trim(std::string_view text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string to_hex(std::uint64_t number) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

}  // namespace udtx::apps
