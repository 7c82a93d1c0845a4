// What of a tree is left out: the --exclude and --include of rsync. docs/using/trees.md says what a pattern means.
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
    bool include = false;  ///< else exclude
    std::string pattern;   ///< as of rsync
};

inline constexpr std::size_t kMaxFilterRules = 1024;        ///< most rules of one transfer
inline constexpr std::size_t kMaxFilterBytes = 64U << 10U;  ///< most bytes of all its patterns

struct FilterPattern;

/// An ordered list of rules; a value. Any number of threads may ask while none changes it.
class UDTX_EXPORT FilterRules {
  public:
    FilterRules();                                         ///< No rule: nothing is left out.
    FilterRules(const FilterRules& other);                 ///< A copy.
    FilterRules(FilterRules&& other) noexcept;             ///< Moves.
    FilterRules& operator=(const FilterRules& other);      ///< A copy.
    FilterRules& operator=(FilterRules&& other) noexcept;  ///< Moves.
    ~FilterRules();

    /// Appends a rule. invalid_argument: the pattern is empty or too long, or there are too many rules.
    [[nodiscard]] Result<void> add(FilterRule rule);
    /// Whether the first rule that matches `path` excludes it. `path` is relative to the destination. Ask for a
    /// directory before what is in it: what is in an excluded one is not asked for.
    [[nodiscard]] bool excludes(std::string_view path, bool directory) const;
    /// The rules in their order.
    [[nodiscard]] const std::vector<FilterRule>& list() const noexcept { return rules_; }
    /// There is no rule.
    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

  private:
    std::vector<FilterRule> rules_;
    std::vector<FilterPattern> patterns_;
    std::size_t bytes_ = 0;
};

}  // namespace udtx::transfer
