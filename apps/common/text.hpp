// Makes text from outside the program (file names, a peer's messages) safe to print. Also: help with mistyped flags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// Writes one JSON value. The output is well-formed (RFC 8259) for any bytes in the strings.

/// Order of calls: inside an object, key() precedes every value. Each begin_*() needs its end_*().
class JsonWriter {
  public:
    JsonWriter& begin_object();
    JsonWriter& end_object();
    JsonWriter& begin_array();
    JsonWriter& end_array();
    JsonWriter& key(std::string_view name);
    /// Bytes that are not UTF-8 become U+FFFD, because JSON cannot represent them.
    JsonWriter& string(std::string_view value);
    JsonWriter& number(std::uint64_t value);
    JsonWriter& number(int value);
    /// Not-a-number and infinities become null.
    JsonWriter& number(double value);
    JsonWriter& boolean(bool value);
    JsonWriter& null();
    /// Inserts a value that is already JSON.
    JsonWriter& json(std::string_view value);

    [[nodiscard]] const std::string& text() const noexcept { return out_; }

  private:
    void separate();
    void quote(std::string_view value);

    std::string out_;
    std::vector<bool> has_items_;  // one entry for each open object or array
    bool after_key_ = false;
};

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
[[nodiscard]] std::string to_hex(std::string_view bytes);
/// As 16 digits.
[[nodiscard]] std::string to_hex(std::uint64_t number);

}  // namespace udtx::apps
