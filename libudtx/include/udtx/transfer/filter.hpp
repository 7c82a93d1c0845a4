// Filters of a tree: the --exclude and --include of rsync. docs/using/trees.md explains the patterns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// One --include or --exclude.
struct FilterRule {
    bool include = false;  ///< true: include; false: exclude
    std::string pattern;   ///< pattern in the syntax of rsync
};

inline constexpr std::size_t kMaxFilterRules = 1024;        ///< limit of the rules of one transfer
inline constexpr std::size_t kMaxFilterBytes = 64U << 10U;  ///< limit of the bytes of all its patterns

struct FilterPattern;

/// An ordered list of rules. Several threads may query it at the same time while none changes it.
class UDTX_EXPORT FilterRules {
  public:
    FilterRules();                                         ///< No rules: nothing is excluded.
    FilterRules(const FilterRules& other);                 ///< A copy.
    FilterRules(FilterRules&& other) noexcept;             ///< Takes the rules of `other`.
    FilterRules& operator=(const FilterRules& other);      ///< A copy.
    FilterRules& operator=(FilterRules&& other) noexcept;  ///< Takes the rules of `other`.
    ~FilterRules();

    /// Appends a rule. invalid_argument: the pattern is empty or too long, or the list is full.
    [[nodiscard]] Result<void> add(FilterRule rule);
    /// True if the first rule that matches `path` excludes it. `path` is relative to the destination. Ask for a
    /// directory before its content, and skip the content of an excluded directory.
    [[nodiscard]] bool excludes(std::string_view path, bool directory) const;
    /// The rules in order.
    [[nodiscard]] const std::vector<FilterRule>& list() const noexcept { return rules_; }
    /// True if there are no rules.
    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

  private:
    std::vector<FilterRule> rules_;
    std::vector<FilterPattern> patterns_;
    std::size_t bytes_ = 0;
};

}  // namespace udtx::transfer
