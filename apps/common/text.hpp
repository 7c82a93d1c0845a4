// Text that came from elsewhere (file names, a peer's words), made safe to print; and help with mistyped flags.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace udtx::apps {

/// Length of the well-formed UTF-8 sequence at the front of `text` (RFC 3629: no overlong forms, no surrogates),
/// 0 if there is none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view text) noexcept;
/// Control characters, bidirectional overrides and invalid UTF-8 become \n, \t, \\, \xNN or \u{...}.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);
/// The same for a message, in which names were escaped before: backslashes stay as they are.
[[nodiscard]] std::string escape_message(std::string_view text);
/// Cuts to `columns`, with "..." in the middle; well-formed UTF-8 expected, one column a character.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t columns);
[[nodiscard]] std::size_t count_columns(std::string_view text) noexcept;
/// A part of a line that may have to do without it.
struct LinePart {
    std::string text;
    int keep = 0;  ///< the part with the smallest number goes first
};
/// The parts that fit, two spaces apart; the last one left is shortened.
[[nodiscard]] std::string fit_parts(std::vector<LinePart> parts, std::size_t columns);
/// The flag that the user probably meant, if any is near enough.
[[nodiscard]] std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known);
/// Lines of at most `columns`, as far as there are spaces. None but the first begins with a flag: in a list of flags it
/// would look like one more of them.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);
/// As one word of a shell, whatever is in it.
[[nodiscard]] std::string quoted_for_shell(const std::string& word);

}  // namespace udtx::apps
