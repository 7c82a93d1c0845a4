// What of a tree is left out: rsync's --exclude and --include. Layout of a pattern and its meaning: docs/tools.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

using FilterRule = message::Rules::Rule;

/// What one sender may have in force; a receiver takes no more either.
inline constexpr std::size_t kMaxFilterRules = 1024;
inline constexpr std::size_t kMaxFilterBytes = 64U << 10U;

class FilterRules {
  public:
    /// invalid_argument: an empty pattern, one that is too long, or too many of them.
    [[nodiscard]] Result<void> add(FilterRule rule);
    /// The first rule that matches decides. `path` counts from the destination; whoever walks asks for a directory
    /// before what is in it.
    [[nodiscard]] bool excludes(std::string_view path, bool directory) const;
    [[nodiscard]] const std::vector<FilterRule>& list() const noexcept { return rules_; }
    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

  private:
    using Ranges = std::vector<std::pair<unsigned char, unsigned char>>;
    struct Token {
        enum class Kind : std::uint8_t { literal, any, one_of, none_of, star, double_star };
        Kind kind = Kind::literal;
        char literal = 0;
        Ranges ranges{};  // of a class
    };
    struct Pattern {
        std::vector<Token> tokens;
        bool include = false;
        bool anchored = false;
        bool whole_path = false;  // looks at all components, else at the last one only
        bool directory = false;   // matches nothing else
        bool and_below = false;   // "/***" at its end
        bool leading_stars = false;
        bool wild = false;
    };
    static std::vector<Token> tokens_of(std::string_view text, bool wild);
    static std::size_t read_class(std::string_view text, std::size_t at, Token& token);
    static std::size_t read_named_class(std::string_view text, std::size_t at, Ranges& ranges);
    static bool takes(const Token& token, char c);
    /// Steps through all ways to match at once, so that no pattern costs more than its length for each character.
    static bool matches_all(const Pattern& pattern, std::string_view text);
    static bool matches(const Pattern& pattern, std::string_view path, bool directory);
    static bool matches_path(const Pattern& pattern, std::string_view path);

    std::vector<FilterRule> rules_;
    std::vector<Pattern> patterns_;
    std::size_t bytes_ = 0;
};

}  // namespace udtx::transfer
