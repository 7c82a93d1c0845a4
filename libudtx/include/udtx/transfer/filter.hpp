// What of a tree is left out: rsync's --exclude and --include. Layout of a pattern and its meaning: docs/tools.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct FilterRule {
    bool include = false;
    std::string pattern;
};

/// What one sender may have in force; a receiver takes no more either.
inline constexpr std::size_t kMaxFilterRules = 1024;
inline constexpr std::size_t kMaxFilterBytes = 64U << 10U;

struct FilterPattern;

/// A value. One thread at a time may change it; any number may ask.
class UDTX_EXPORT FilterRules {
  public:
    FilterRules();
    FilterRules(const FilterRules& other);
    FilterRules(FilterRules&& other) noexcept;
    FilterRules& operator=(const FilterRules& other);
    FilterRules& operator=(FilterRules&& other) noexcept;
    ~FilterRules();

    /// invalid_argument: an empty pattern, one that is too long, or too many of them.
    [[nodiscard]] Result<void> add(FilterRule rule);
    /// The first rule that matches decides. `path` counts from the destination; whoever walks asks for a directory
    /// before what is in it.
    [[nodiscard]] bool excludes(std::string_view path, bool directory) const;
    [[nodiscard]] const std::vector<FilterRule>& list() const noexcept { return rules_; }
    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

  private:
    std::vector<FilterRule> rules_;
    std::vector<FilterPattern> patterns_;
    std::size_t bytes_ = 0;
};

}  // namespace udtx::transfer
