#include "common/manual.hpp"

#include <algorithm>
#include <cstddef>

#include "common/text.hpp"

namespace udtx::apps {
namespace {

constexpr std::size_t kWidth = 100;

std::string examples(const Manual& manual) {
    std::string out = "Examples:\n";
    for (const auto& one : manual.examples) {
        out.append("  ").append(one.text).append("\n      ").append(one.command) += '\n';
    }
    return out;
}

std::string exit_codes(const Manual& manual) {
    std::string line = "Exit codes:";
    for (const ExitCode code : manual.exit_codes) {
        line += (line.ends_with(':') ? " " : ", ") + std::to_string(static_cast<int>(code)) + ' ' +
                std::string(meaning_of(code));
    }
    return wrapped(line + '.', kWidth) + '\n';
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

std::string plain_text(const Manual& manual) {
    std::string out;
    for (const auto paragraph : manual.description) out += wrapped(paragraph, kWidth) + "\n\n";
    if (!manual.commands.empty()) out += commands(manual) + '\n';
    if (!manual.examples.empty()) out += examples(manual) + '\n';
    return out + exit_codes(manual);
}

std::string short_text(const Manual& manual, const std::string& command) {
    return examples(manual) + '\n' + commands(manual) + '\n' + command + " --help-all lists every flag. man " +
           command + " explains them.\n";
}

}  // namespace udtx::apps
