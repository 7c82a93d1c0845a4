#include "common/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "common/text.hpp"

namespace udtx::apps {

void JsonWriter::separate() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    if (has_items_.empty()) return;
    if (has_items_.back()) out_ += ',';
    has_items_.back() = true;
}

JsonWriter& JsonWriter::begin_object() {
    separate();
    out_ += '{';
    has_items_.push_back(false);
    return *this;
}

JsonWriter& JsonWriter::end_object() {
    out_ += '}';
    has_items_.pop_back();
    return *this;
}

JsonWriter& JsonWriter::begin_array() {
    separate();
    out_ += '[';
    has_items_.push_back(false);
    return *this;
}

JsonWriter& JsonWriter::end_array() {
    out_ += ']';
    has_items_.pop_back();
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    after_key_ = true;
    return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
    separate();
    quote(value);
    return *this;
}

JsonWriter& JsonWriter::number(std::uint64_t value) {
    separate();
    out_ += std::to_string(value);
    return *this;
}

JsonWriter& JsonWriter::number(int value) {
    separate();
    out_ += std::to_string(value);
    return *this;
}

JsonWriter& JsonWriter::number(double value) {
    separate();
    if (!std::isfinite(value)) {
        out_ += "null";
        return *this;
    }
    // to_chars, because printf's decimal point depends on the locale.
    std::array<char, 400> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::fixed, std::abs(value) >= 1e6 ? 0 : 6);
    out_ += error == std::errc() ? std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data()))
                                 : std::string_view("null");
    return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
    separate();
    out_ += value ? "true" : "false";
    return *this;
}

JsonWriter& JsonWriter::null() {
    separate();
    out_ += "null";
    return *this;
}

JsonWriter& JsonWriter::json(std::string_view value) {
    separate();
    out_ += value;
    return *this;
}

void JsonWriter::quote(std::string_view value) {
    out_ += '"';
    while (!value.empty()) {
        const std::size_t length = utf8_sequence(value);
        const auto lead = static_cast<unsigned char>(value.front());
        if (length == 0) {
            out_ += "\xEF\xBF\xBD";
        } else if (lead == '"' || lead == '\\') {
            out_ += '\\';
            out_ += value.front();
        } else if (lead < 0x20 || lead == 0x7F) {
            std::array<char, 8> buffer{};
            std::snprintf(buffer.data(), buffer.size(), "\\u%04x", lead);
            out_ += buffer.data();
        } else {
            out_ += value.substr(0, length);
        }
        value.remove_prefix(length == 0 ? 1 : length);
    }
    out_ += '"';
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

std::string to_hex(std::uint64_t number) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

}  // namespace udtx::apps
