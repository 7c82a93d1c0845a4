// The code that connects two ends: "7-crossover-clockwork-anvil". The number finds the other end at the relay. The
// three words are the password of SPAKE2 and never leave this host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "udtx/core/crypto.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Length of the list. The first four letters of a word are in no other word's beginning.
inline constexpr std::size_t kCodeWords = 2048;
inline constexpr std::uint32_t kMaxCodeNumber = 999'999;

struct Code {
    std::uint32_t number = 0;                 ///< 1 to kMaxCodeNumber
    std::array<std::string_view, 3> words{};  ///< of the list

    friend bool operator==(const Code&, const Code&) = default;
};

/// A word of the list by its place, which is below kCodeWords.
[[nodiscard]] std::string_view code_word(std::size_t place);

/// Chooses three words, each with the same probability.
[[nodiscard]] Code make_code(std::uint32_t number, Rng& random);

/// "7-crossover-clockwork-anvil"
[[nodiscard]] std::string to_text(const Code& code);
/// The words alone, joined by '-': the password.
[[nodiscard]] std::string password_of(const Code& code);

/// Reads a code as people write it: capitals count as small letters, blanks, dots, commas and underscores as dashes.
/// Four letters of a word are enough. invalid_argument: the message names the cause and the remedy.
[[nodiscard]] Result<Code> parse_code(std::string_view text);

}  // namespace udtx::apps
