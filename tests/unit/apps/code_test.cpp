// Codes for two ends: the list of words, how codes are chosen, and how forgiving the parser is.
#include <cstring>
#include <set>
#include <string>

#include "rendezvous/code.hpp"
#include "test/catch.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

/// Returns 0, 1, 2, ... as random numbers.
class CountingRng final : public Rng {
  public:
    void fill(std::span<std::byte> out) override {
        const std::uint64_t value = next_++;
        REQUIRE(out.size() == sizeof value);
        std::memcpy(out.data(), &value, sizeof value);
    }

  private:
    std::uint64_t next_ = 0;
};

std::string refusal(std::string_view text) {
    const auto code = parse_code(text);
    REQUIRE_FALSE(code);
    CHECK(code.error().code == ErrorCode::invalid_argument);
    return code.error().message;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the list has 2,048 words in order, and four letters tell them apart") {
    std::set<std::string_view> beginnings;
    for (std::size_t i = 0; i < kCodeWords; ++i) {
        const std::string_view word = code_word(i);
        CHECK(word.size() >= 3);
        CHECK(word.size() <= 8);
        CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos);
        CHECK((i == 0 || code_word(i - 1) < word));
        CHECK(beginnings.insert(word.substr(0, 4)).second);
    }
    CHECK(code_word(0) == "abandon");
    CHECK(code_word(kCodeWords - 1) == "zoo");
}

TEST_CASE("each word can be chosen, and each by the same number of random values") {
    CountingRng counting;
    std::multiset<std::string_view> chosen;
    for (std::size_t i = 0; i < 2 * kCodeWords; ++i) {
        for (const auto word : make_code(1, counting).words) chosen.insert(word);
    }
    CHECK(chosen.size() == 6 * kCodeWords);
    for (std::size_t i = 0; i < kCodeWords; ++i) CHECK(chosen.count(code_word(i)) == 6);
}

TEST_CASE("a code is written and read to the same") {
    SystemRng random;
    for (const std::uint32_t number : {1U, 7U, 999U, kMaxCodeNumber}) {
        const Code code = make_code(number, random);
        const auto again = parse_code(to_text(code));
        REQUIRE(again);
        CHECK(*again == code);
    }
}

TEST_CASE("a code may be written as people write it") {
    for (const char* text :
         {"7-crystal-hamster-anchor", "7 crystal hamster anchor", "  7 Crystal   HAMSTER\tanchor \n",
          "7_crystal.hamster,anchor", "7--crystal- -hamster-anchor-", "7-crys-hams-anch", "7-cryst-hamste-anchor"}) {
        INFO(text);
        const auto code = parse_code(text);
        REQUIRE(code);
        CHECK(to_text(*code) == "7-crystal-hamster-anchor");
        CHECK(password_of(*code) == "crystal-hamster-anchor");
    }
    // A word of three letters is whole, also if longer words start with it.
    const auto whole = parse_code("12-act-car-sea");
    REQUIRE(whole);
    CHECK(to_text(*whole) == "12-act-car-sea");
}

TEST_CASE("a wrong code is refused with the cause and the remedy") {
    CHECK(says(refusal(""), "is empty: a code is a number and three words"));
    CHECK(says(refusal("- -"), "is empty"));
    CHECK(says(refusal("crystal-hamster-anchor"), "starts with 'crystal', which is not a number from 1 to 999999"));
    CHECK(says(refusal("0-crystal-hamster-anchor"), "starts with '0'"));
    CHECK(says(refusal("1000000-crystal-hamster-anchor"), "starts with '1000000'"));
    CHECK(says(refusal("99999999999999999999-a-b-c"), "not a number"));
    CHECK(says(refusal("-7x-crystal-hamster-anchor"), "'7x'"));
    CHECK(says(refusal("7"), "has 0 words and needs 3"));
    CHECK(says(refusal("7-crystal"), "has 1 word and needs 3"));
    CHECK(says(refusal("7-crystal-hamster-anchor-abandon"), "has 4 words and needs 3"));
    CHECK(says(refusal("7-crystal-hamstre-anchor"), "'hamstre' is not a word of a code: did you mean 'hamster'?"));
    CHECK(says(refusal("7-ham-hamster-anchor"), "'ham' is not a word of a code: type at least its first four letters"));
    CHECK(says(refusal("7-crystals-hamster-anchor"), "did you mean 'crystal'?"));
    CHECK(says(refusal("7-xxxxxxxxxxxx-hamster-anchor"), "ask for the code once more"));
    CHECK(says(refusal("7-\x1b[31m-hamster-anchor"), "\\x1b[31m"));
    CHECK(says(refusal("7-zzzz-hamster-anchor"), "'zzzz'"));
}
