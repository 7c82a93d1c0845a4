// Makes text from outside the program (file names, a peer's messages) safe to print. Also: help with mistyped flags.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace udtx::apps {

/// Length of the well-formed UTF-8 sequence at the front of `text` (RFC 3629: no overlong forms, no surrogates); 0 if
/// there is none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view text) noexcept;
/// Control characters, bidirectional overrides and invalid UTF-8 become \n, \t, \\, \xNN or \u{...}.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);
/// The same for a message whose names are already escaped: backslashes stay unchanged.
[[nodiscard]] std::string escape_message(std::string_view text);
/// Shortens to `columns`, with "..." in the middle. Expects well-formed UTF-8 and counts one column per character.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t columns);
[[nodiscard]] std::size_t count_columns(std::string_view text) noexcept;
/// A part of a line. fit_parts() may drop it if the line is too long.
struct LinePart {
    std::string text;
    int keep = 0;  ///< fit_parts() drops the part with the smallest number first
};
/// Joins the parts that fit, with two spaces between them. If only one is left, it is shortened.
[[nodiscard]] std::string fit_parts(std::vector<LinePart> parts, std::size_t columns);
/// The known flag that is nearest to the typed one; empty if none is near enough.
[[nodiscard]] std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known);
/// Breaks `text` at spaces into lines of at most `columns`. Only the first line may start with a flag: in a list of
/// flags, any other would look like a new entry.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);
/// Quotes `word` for a shell, with any characters in it.
[[nodiscard]] std::string quoted_for_shell(const std::string& word);

/// The whole text as a number; nullopt: it is not a number, or does not fit. `form`: as for std::from_chars.
template <class Number, class... Form>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Form... form) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, form...);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// A JSON value as text. It is well-formed (RFC 8259) for any bytes in the strings.
class Json {
  public:
    struct Member;

    // NOLINTBEGIN(google-explicit-constructor): these are the values that JSON has
    Json(std::nullptr_t) : text_("null") {}
    Json(bool value) : text_(value ? "true" : "false") {}
    template <std::integral Number>
    Json(Number value) : text_(std::to_string(value)) {}
    /// Not-a-number and infinities become null.
    Json(double value);
    /// Bytes that are not UTF-8 become U+FFFD, because JSON cannot represent them.
    Json(std::string_view value);
    Json(const std::string& value) : Json(std::string_view(value)) {}
    Json(const char* value) : Json(std::string_view(value)) {}
    template <class Value>
    Json(const std::optional<Value>& value) : Json(value ? Json(*value) : Json(nullptr)) {}
    // NOLINTEND(google-explicit-constructor)

    static Json object(std::initializer_list<Member> members) { return std::move(ready("{}").add(members)); }
    /// `make` returns the element of an item.
    template <class Items, class Make>
    static Json array(const Items& items, const Make& make) {
        std::string text = "[";
        for (const auto& item : items) text.append(text.size() > 1 ? "," : "").append(Json(make(item)).text_);
        return ready(text + ']');
    }
    static Json array(const std::vector<std::string>& items) {
        return array(items, [](const std::string& item) { return Json(item); });
    }
    /// `text` is JSON already.
    static Json ready(std::string text);

    /// Adds members to an object.
    Json& add(std::initializer_list<Member> members);
    /// Adds a string of any bytes. If they are not UTF-8, a member NAME_hex has them, too.
    Json& add_bytes(std::string_view name, std::string_view bytes);

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// The members of an object, without its braces.
    [[nodiscard]] std::string_view members() const { return std::string_view(text_).substr(1, text_.size() - 2); }

  private:
    std::string text_;
};
struct Json::Member {
    std::string_view name;
    Json value;
};

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
/// The byte that two hexadecimal digits at the front of `text` mean.
[[nodiscard]] std::optional<std::uint8_t> hex_byte(std::string_view text) noexcept;
/// Without blanks at both ends.
inline constexpr std::string_view kBlanks = " \t\r";
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;
/// As 16 digits.
[[nodiscard]] std::string to_hex(std::uint64_t number);

}  // namespace udtx::apps
