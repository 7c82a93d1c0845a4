#include "options/lists.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/text.hpp"
#include "common/usage.hpp"

namespace udtx::apps {
namespace {

std::vector<std::string> split_at(std::string_view text, char separator) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        std::string line(text.substr(at, end - at));
        if (separator == '\n' && line.ends_with('\r')) line.pop_back();
        if (!line.empty()) out.push_back(std::move(line));
        at = end + 1;
    }
    return out;
}

bool is_comment(const std::string& line) { return line.front() == '#' || line.front() == ';'; }

}  // namespace

Result<std::vector<std::string>> parse_names(std::string_view text, bool by_nul) {
    std::vector<std::string> names = split_at(text, by_nul ? '\0' : '\n');
    if (!by_nul) std::erase_if(names, is_comment);
    for (const std::string& name : names) {
        const std::filesystem::path path(name);
        if (std::find(path.begin(), path.end(), "..") != path.end()) {
            return usage("--files-from: '" + escape_for_terminal(name) + "' is outside of the source");
        }
    }
    return names;
}

Result<void> add_rule(transfer::FilterRules& rules, bool included, std::string pattern) {
    if (pattern == "!") {
        rules = {};
        return {};
    }
    if (pattern.starts_with("+ ") || pattern.starts_with("- ")) {
        included = pattern.front() == '+';
        pattern.erase(0, 2);
    }
    auto added = rules.add({included, std::move(pattern)});
    if (added) return {};
    return usage(std::string(included ? "--include: " : "--exclude: ") + added.error().message);
}

Result<void> add_rules(transfer::FilterRules& rules, std::string_view text) {
    for (std::string& line : split_at(text, '\n')) {
        if (is_comment(line)) continue;
        if (auto added = add_rule(rules, false, std::move(line)); !added) return added;
    }
    return {};
}

}  // namespace udtx::apps
