// One parsed pattern of a filter rule. docs/using/trees.md describes the meaning of patterns.
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
    bool whole_path = false;  // matches all components; else only the last one
    bool directory = false;   // matches directories only
    bool and_below = false;   // "/***" at its end
    bool leading_stars = false;
    bool wild = false;

    /// invalid_argument: it is empty, too long, or contains a NUL.
    [[nodiscard]] static Result<FilterPattern> parse(const FilterRule& rule);
    [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;

  private:
    [[nodiscard]] bool matches_path(std::string_view path) const;
    /// Follows all ways to match at once, so that each character costs at most the length of the pattern.
    [[nodiscard]] bool matches_all(std::string_view text) const;
};

/// The error for a bad rule.
[[nodiscard]] Error bad_pattern(std::string_view pattern, const char* why);

}  // namespace udtx::transfer
