#include "options/flags.hpp"

#include <algorithm>

namespace udtx::apps {

std::string joined(const std::vector<std::string>& words, const char* between, const char* last) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) out += last != nullptr && i + 1 == words.size() ? last : between;
        out += words[i];
    }
    return out;
}

void Flags::name(const char* names, std::string& to, const std::vector<std::string>& known, const std::string& help) {
    const auto find = [known](const std::string& text) -> Result<std::string> {
        if (std::ranges::find(known, text) != known.end()) return text;
        return usage("'" + text + "' is unknown; use one of " + joined(known, ", "));
    };
    value(names, to, to, find, joined(known, "|"), help);
}

Result<void> Flags::check() const {
    for (const auto& check : checks_) {
        if (auto checked = check(); !checked) return checked;
    }
    return {};
}

Result<void> Flags::refuse(std::initializer_list<const char*> flags, const Origins& origins,
                           const std::string& why) const {
    for (const char* const flag : flags) {
        if (typed(flag, origins)) return usage(flag + (' ' + why));
    }
    return {};
}

}  // namespace udtx::apps
