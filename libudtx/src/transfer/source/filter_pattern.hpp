// One pattern of a filter rule, taken apart: docs/using/trees.md says what a pattern means.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "udtx/result.hpp"
#include "udtx/transfer/filter.hpp"

namespace udtx::transfer {

struct FilterPattern {
    using Ranges = std::vector<std::pair<unsigned char, unsigned char>>;
    struct Token {
        enum class Kind : std::uint8_t { literal, any, one_of, none_of, star, double_star };
        Kind kind = Kind::literal;
        char literal = 0;
        Ranges ranges{};  // of a class
    };

    std::vector<Token> tokens;
    bool include = false;
    bool anchored = false;
    bool whole_path = false;  // looks at all components, else at the last one only
    bool directory = false;   // matches nothing else
    bool and_below = false;   // "/***" at its end
    bool leading_stars = false;
    bool wild = false;

    /// invalid_argument: it is empty, too long, or has a NUL.
    [[nodiscard]] static Result<FilterPattern> parse(const FilterRule& rule);
    [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;

  private:
    [[nodiscard]] bool matches_path(std::string_view path) const;
    /// Steps through all ways to match at once, so that no pattern costs more than its length for each character.
    [[nodiscard]] bool matches_all(std::string_view text) const;
};

/// What is wrong with a rule.
[[nodiscard]] Error bad_pattern(std::string_view pattern, const char* why);

}  // namespace udtx::transfer
