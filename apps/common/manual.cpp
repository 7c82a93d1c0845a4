#include "common/manual.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace udtx::apps {
namespace {

constexpr std::size_t kWidth = 100;

constexpr std::array<std::pair<int, std::string_view>, 12> kMeanings{{
    {0, "success"},
    {1, "wrong command line"},
    {10, "network error"},
    {11, "a file cannot be read or written"},
    {12, "protocol error"},
    {13, "a newer run of the same transfer took over"},
    {23, "partial: some entries were not transferred"},
    {30, "timeout"},
    {40, "authentication failed"},
    {41, "data is damaged or differs"},
    {42, "UDP is blocked"},
    {130, "interrupted"},
}};

std::string wrapped(std::string_view text, std::size_t indent) {
    const std::string margin(indent, ' ');
    std::string out = margin;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (column > indent && column + 1 + end > kWidth) {
            out += '\n' + margin;
            column = indent;
        }
        if (column > indent) {
            out += ' ';
            ++column;
        }
        out += text.substr(0, end);
        column += end;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out + '\n';
}

std::string examples(const Manual& manual) {
    std::string out = "Examples:\n";
    for (const auto& one : manual.examples) {
        out += wrapped(one.text, 2) + "      " + std::string(one.command) + '\n';
    }
    return out;
}

std::string exit_codes(const Manual& manual) {
    std::string line = "Exit codes:";
    for (const int code : manual.exit_codes) {
        line += (line.ends_with(':') ? " " : ", ") + std::to_string(code) + ' ' + std::string(meaning_of(code));
    }
    return wrapped(line + '.', 0);
}

std::string commands(const Manual& manual) {
    std::size_t longest = 0;
    for (const auto& one : manual.commands) longest = std::max(longest, one.name.size());
    std::string out = "Commands (each has --help):\n";
    for (const auto& one : manual.commands) {
        out += "  " + std::string(one.name) + std::string(longest + 2 - one.name.size(), ' ') + std::string(one.text) +
               '\n';
    }
    return out;
}

}  // namespace

std::string_view meaning_of(int exit_code) noexcept {
    const auto* found = std::ranges::find(kMeanings, exit_code, [](const auto& pair) { return pair.first; });
    return found == kMeanings.end() ? "unknown" : found->second;
}

std::string plain_text(const Manual& manual) {
    std::string out;
    for (const auto paragraph : manual.description) out += wrapped(paragraph, 0) + '\n';
    if (!manual.commands.empty()) out += commands(manual) + '\n';
    if (!manual.examples.empty()) out += examples(manual) + '\n';
    return out + exit_codes(manual);
}

std::string short_text(const Manual& manual, const std::string& command) {
    return examples(manual) + '\n' + commands(manual) + '\n' + command + " --help-all lists every flag. man " +
           command + " explains them.\n";
}

}  // namespace udtx::apps
