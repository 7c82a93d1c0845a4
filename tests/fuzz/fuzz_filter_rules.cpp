// Patterns that choose files, and lists of names. A pattern without character classes matches exactly if a naive
// matcher says so. No name of a list leads out of the directory.
//
// Input: a path, a zero byte, and a file of patterns or names.
#include <algorithm>
#include <string>

#include "fuzz/require.hpp"
#include "options/tree_options.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/selection.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "patterns match as a simple matcher does, and lists of names stay within the directory"}};

using namespace udtx;
using namespace udtx::transfer;
using udtx::fuzz::require;

namespace {

/// Tries all possibilities: '*' matches no slash, "**" matches any character, '?' matches one character except a slash.
bool naive(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern.front() == '*') {
        std::size_t stars = std::min(pattern.find_first_not_of('*'), pattern.size());
        const bool all = stars >= 2;
        const std::string_view rest = pattern.substr(stars);
        for (std::size_t n = 0;; ++n) {
            if (naive(rest, text.substr(n))) return true;
            if (n == text.size() || (!all && text[n] == '/')) return false;
        }
    }
    if (text.empty()) return false;
    const bool fits = pattern.front() == '?' ? text.front() != '/' : pattern.front() == text.front();
    return fits && naive(pattern.substr(1), text.substr(1));
}

/// A pattern with "**" is matched against the whole path and against the rest of it after each slash.
bool naive_path(std::string_view pattern, std::string_view path) {
    if (pattern.find("**") == std::string_view::npos) return naive(pattern, path.substr(path.rfind('/') + 1));
    if (naive(pattern, path) || (pattern.starts_with("**") && naive(pattern, "/" + std::string(path)))) return true;
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
        if (naive(pattern, path.substr(slash + 1))) return true;
    }
    return false;
}

/// Checks patterns without slashes, classes and escapes.
void check_one(const std::string& pattern, std::string_view path) {
    constexpr std::size_t kMostStars = 4;  // the naive matcher tries all combinations
    if (pattern.empty() || pattern.size() > 64 || path.size() > 64) return;
    if (pattern.find_first_of(std::string_view("/[]\\\0", 5)) != std::string::npos) return;
    if (static_cast<std::size_t>(std::count(pattern.begin(), pattern.end(), '*')) > kMostStars) return;
    FilterRules rules;
    require(rules.add({false, pattern}).ok(), "a short pattern is taken");
    require(rules.excludes(path, false) == naive_path(pattern, path), "a pattern matches as the naive matcher says");
}

void check_list(std::string_view path, std::string_view text) {
    FilterRules rules;
    if (apps::add_rules(rules, text)) {
        require(rules.list().size() <= kMaxFilterRules, "rules are bounded");
        static_cast<void>(rules.excludes(path, true));
        static_cast<void>(rules.excludes(path, false));
    }
    for (const bool by_nul : {false, true}) {
        const auto names = apps::parse_names(text, by_nul);
        if (!names) continue;
        for (const std::string& name : *names) {
            require(!name.empty(), "names are not empty");
            for (const std::string& part : split_path(name)) require(part != "..", "names do not lead out");
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t zero = std::min(input.find('\0'), input.size());
    const std::string_view path = input.substr(0, zero);
    const std::string_view text = input.substr(std::min(zero + 1, input.size()));
    check_one(std::string(text), path);
    check_list(path, text);
    return 0;
}
