#include "rendezvous/code.hpp"

#include <algorithm>
#include <vector>

#include "assets/assets.hpp"
#include "common/command_line.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

constexpr std::size_t kPrefixLetters = 4;
constexpr std::string_view kSeparators = "- \t\r\n._,";
constexpr const char* kForm = "a code is a number and three words, as in 7-crystal-hamster-anchor";

using WordList = std::array<std::string_view, kCodeWords>;

const WordList& word_list() {
    static const WordList words = [] {
        WordList list{};
        std::string_view rest = code_words();
        for (std::string_view& word : list) {
            const std::size_t end = rest.find('\n');
            word = rest.substr(0, end);
            rest.remove_prefix(std::min(rest.size(), end + 1));
        }
        return list;
    }();
    return words;
}

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    bool inside = false;
    for (const char letter : text) {
        if (kSeparators.find(letter) != std::string_view::npos) {
            inside = false;
            continue;
        }
        if (!inside) parts.emplace_back();
        inside = true;
        parts.back() += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
    return parts;
}

Result<std::uint32_t> parse_number_of(const std::string& part) {
    const auto number = parse_number<std::uint32_t>(part);
    if (number && *number >= 1 && *number <= kMaxCodeNumber) return *number;
    return usage("the code starts with '" + escape_for_terminal(part) + "', which is not a number from 1 to " +
                 std::to_string(kMaxCodeNumber) + ": " + kForm);
}

/// The word that was meant: the word itself, or its beginning.
Result<std::string_view> find_word(const std::string& typed) {
    const WordList& words = word_list();
    const auto* const found = std::ranges::lower_bound(words, std::string_view(typed));
    if (found != words.end() && *found == typed) return *found;
    // Four letters lead to one word.
    if (typed.size() >= kPrefixLetters && found != words.end() && found->starts_with(typed)) return *found;
    const std::string shown = "'" + escape_for_terminal(typed) + "'";
    if (typed.size() < kPrefixLetters) {
        return usage(shown + " is not a word of a code: type at least its first four letters");
    }
    const std::vector<std::string> known(words.begin(), words.end());
    const auto near = nearest(typed, known);
    return usage(shown + " is not a word of a code: " +
                 (near ? "did you mean '" + *near + "'?" : "ask for the code once more and compare the spelling"));
}

}  // namespace

std::string_view code_word(std::size_t place) { return word_list().at(place); }

Code make_code(std::uint32_t number, Rng& random) {
    static_assert((kCodeWords & (kCodeWords - 1)) == 0, "the low bits of a random number then have no bias");
    Code code{.number = number};
    for (std::string_view& word : code.words) word = code_word(random.next_u64() & (kCodeWords - 1));
    return code;
}

std::string to_text(const Code& code) { return std::to_string(code.number) + '-' + password_of(code); }

std::string password_of(const Code& code) {
    std::string text(code.words[0]);
    return text.append("-").append(code.words[1]).append("-").append(code.words[2]);
}

Result<Code> parse_code(std::string_view text) {
    const std::vector<std::string> parts = parts_of(text);
    if (parts.empty()) return usage(std::string("the code is empty: ") + kForm);
    const auto number = parse_number_of(parts.front());
    if (!number) return number.error();
    if (parts.size() != 4) {
        const std::size_t words = parts.size() - 1;
        return usage("the code has " + std::to_string(words) + (words == 1 ? " word" : " words") +
                     " and needs 3: " + kForm);
    }
    Code code{.number = *number};
    for (std::size_t i = 0; i < code.words.size(); ++i) {
        const auto word = find_word(parts[i + 1]);
        if (!word) return word.error();
        code.words[i] = *word;
    }
    return code;
}

}  // namespace udtx::apps
