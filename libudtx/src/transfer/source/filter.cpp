#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// One parsed pattern of a filter rule. docs/using/trees.md describes the meaning of patterns.
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

namespace {

using Token = FilterPattern::Token;
using Ranges = FilterPattern::Ranges;

constexpr std::string_view kAndBelow = "/***";

struct NamedClass {
    std::string_view name;
    std::string_view ranges;  // first and last character of each
};
/// Classes of the C locale, whatever the user's locale is, so that both ends read a pattern alike.
constexpr std::array<NamedClass, 12> kNamedClasses{{{"alnum", "09AZaz"},
                                                    {"alpha", "AZaz"},
                                                    {"blank", "\t\t  "},
                                                    {"cntrl", "\x01\x1f\x7f\x7f"},
                                                    {"digit", "09"},
                                                    {"graph", "!~"},
                                                    {"lower", "az"},
                                                    {"print", " ~"},
                                                    {"punct", "!/:@[`{~"},
                                                    {"space", "\t\r  "},
                                                    {"upper", "AZ"},
                                                    {"xdigit", "09AFaf"}}};

/// Reads "[:name:]" within a class; returns the index after it, or `at` if there is none.
std::size_t read_named_class(std::string_view text, std::size_t at, Ranges& ranges) {
    if (!text.substr(at).starts_with("[:")) return at;
    const std::size_t end = text.find(":]", at + 2);
    if (end == std::string_view::npos) return at;
    const std::string_view name = text.substr(at + 2, end - at - 2);
    const auto found = std::find_if(kNamedClasses.begin(), kNamedClasses.end(),
                                    [&](const NamedClass& known) { return known.name == name; });
    if (found == kNamedClasses.end()) return at;
    for (std::size_t i = 0; i < found->ranges.size(); i += 2) {
        ranges.emplace_back(static_cast<unsigned char>(found->ranges[i]),
                            static_cast<unsigned char>(found->ranges[i + 1]));
    }
    return end + 1;
}

std::size_t read_class(std::string_view text, std::size_t at, Token& token) {
    std::size_t i = at + 1;
    const bool negated = i < text.size() && (text[i] == '!' || text[i] == '^');
    if (negated) ++i;
    Ranges ranges;
    const std::size_t first = i;
    for (; i < text.size() && (text[i] != ']' || i == first); ++i) {
        if (const std::size_t end = read_named_class(text, i, ranges); end > i) {
            i = end;
            continue;
        }
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        const auto low = static_cast<unsigned char>(text[i]);
        auto high = low;
        if (i + 2 < text.size() && text[i + 1] == '-' && text[i + 2] != ']') {
            i += 2;
            high = static_cast<unsigned char>(text[i]);
        }
        ranges.emplace_back(low, high);
    }
    if (i >= text.size()) return at;  // no end: an ordinary bracket
    token.kind = negated ? Token::Kind::none_of : Token::Kind::one_of;
    token.ranges = std::move(ranges);
    return i;
}

std::vector<Token> tokens_of(std::string_view text, bool wild) {
    using Kind = Token::Kind;
    std::vector<Token> out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        Token token;
        token.literal = text[i];
        if (wild && text[i] == '\\' && i + 1 < text.size()) {
            token.literal = text[++i];
        } else if (text[i] == '?') {
            token.kind = Kind::any;
        } else if (text[i] == '*') {
            token.kind = text.substr(i).starts_with("**") ? Kind::double_star : Kind::star;
            while (i + 1 < text.size() && text[i + 1] == '*') ++i;
        } else if (text[i] == '[') {
            if (const std::size_t end = read_class(text, i, token); end > i) i = end;
        }
        out.push_back(std::move(token));
    }
    return out;
}

bool takes(const Token& token, char c) {
    using Kind = Token::Kind;
    const auto u = static_cast<unsigned char>(c);
    const auto in_class = [&] {
        return std::any_of(token.ranges.begin(), token.ranges.end(),
                           [&](const auto& range) { return range.first <= u && u <= range.second; });
    };
    switch (token.kind) {
        case Kind::literal:
            return c == token.literal;
        case Kind::double_star:
            return true;
        case Kind::any:
        case Kind::star:
            return c != '/';
        case Kind::one_of:
            return c != '/' && in_class();
        case Kind::none_of:
            return c != '/' && !in_class();
    }
    return false;
}

Error bad_pattern(std::string_view pattern, const char* why) {
    return {ErrorCode::invalid_argument, "pattern '" + escape_name(pattern) + "': " + why};
}

}  // namespace

Result<FilterPattern> FilterPattern::parse(const FilterRule& rule) {
    std::string_view text = rule.pattern;
    if (text.size() > kMaxRuleBytes) return bad_pattern(rule.pattern.substr(0, 40) + "...", "it is too long");
    if (text.find('\0') != std::string_view::npos) return bad_pattern(rule.pattern, "it contains a NUL");
    FilterPattern pattern;
    pattern.include = rule.include;
    pattern.anchored = text.starts_with('/');
    if (pattern.anchored) text.remove_prefix(1);
    if (text.size() > kAndBelow.size() && text.ends_with(kAndBelow)) {
        pattern.and_below = true;
        text.remove_suffix(kAndBelow.size());
    } else if (text.ends_with('/')) {
        pattern.directory = true;
        text.remove_suffix(1);
    }
    if (text.empty()) return bad_pattern(rule.pattern, "it is empty");
    pattern.wild = text.find_first_of("*?[") != std::string_view::npos;
    pattern.leading_stars = !pattern.anchored && text.starts_with("**");
    pattern.whole_path =
        pattern.anchored || text.find('/') != std::string_view::npos || text.find("**") != std::string_view::npos;
    pattern.tokens = tokens_of(text, pattern.wild);
    return pattern;
}

bool FilterPattern::matches_all(std::string_view text) const {
    if (!wild) {
        return tokens.size() == text.size() && std::equal(tokens.begin(), tokens.end(), text.begin(),
                                                          [](const Token& t, char c) { return t.literal == c; });
    }
    const auto is_star = [&](std::size_t i) {
        return i < tokens.size() && (tokens[i].kind == Token::Kind::star || tokens[i].kind == Token::Kind::double_star);
    };
    // live[i]: the first i tokens can match the text read so far.
    std::vector<char> live(tokens.size() + 1, 0);
    const auto reach = [&](std::vector<char>& states, std::size_t i) {
        for (states[i] = 1; is_star(i); states[i] = 1) ++i;
    };
    reach(live, 0);
    std::vector<char> next;
    for (const char c : text) {
        next.assign(live.size(), 0);
        bool any = false;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (live[i] == 0 || !takes(tokens[i], c)) continue;
            reach(next, is_star(i) ? i : i + 1);
            any = true;
        }
        if (!any) return false;
        live.swap(next);
    }
    return live.back() != 0;
}

bool FilterPattern::matches_path(std::string_view path) const {
    if (!whole_path) return matches_all(path.substr(path.rfind('/') + 1));
    if (matches_all(path)) return true;
    if (anchored) return false;
    // "**/name" also matches a name at the top.
    if (leading_stars && matches_all("/" + std::string(path))) return true;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
        if (matches_all(path.substr(slash + 1))) return true;
    }
    return false;
}

bool FilterPattern::matches(std::string_view path, bool is_directory) const {
    if (!and_below) return (is_directory || !directory) && matches_path(path);
    if (is_directory && matches_path(path)) return true;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
        if (matches_path(path.substr(0, slash))) return true;
    }
    return false;
}

FilterRules::FilterRules() = default;
FilterRules::FilterRules(const FilterRules& other) = default;
FilterRules::FilterRules(FilterRules&& other) noexcept = default;
FilterRules& FilterRules::operator=(const FilterRules& other) = default;
FilterRules& FilterRules::operator=(FilterRules&& other) noexcept = default;
FilterRules::~FilterRules() = default;

Result<void> FilterRules::add(FilterRule rule) {
    auto pattern = FilterPattern::parse(rule);
    if (!pattern) return pattern.error();
    if (rules_.size() == kMaxFilterRules || bytes_ + rule.pattern.size() > kMaxFilterBytes) {
        return bad_pattern(rule.pattern, "there are too many patterns");
    }
    bytes_ += rule.pattern.size();
    patterns_.push_back(std::move(*pattern));
    rules_.push_back(std::move(rule));
    return {};
}

bool FilterRules::excludes(std::string_view path, bool directory) const {
    const auto first = std::find_if(patterns_.begin(), patterns_.end(),
                                    [&](const FilterPattern& pattern) { return pattern.matches(path, directory); });
    return first != patterns_.end() && !first->include;
}

}  // namespace udtx::transfer
