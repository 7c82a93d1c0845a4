#include <algorithm>
#include <utility>

#include "transfer/source/filter_pattern.hpp"
#include "udtx/transfer/filter.hpp"

namespace udtx::transfer {

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
